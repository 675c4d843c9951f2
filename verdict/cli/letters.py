"""`verdict letters`: what could not be handled and waits for a person, of whatever kind it is."""

import json as json_text
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.cli.deciding_person import Who, Why, WhyIfAny, decided_by
from verdict.cli.options import Json, kafka_options, settings_at_any_rate, settings_of
from verdict.cli.output import add_rows, note, show, show_json, table
from verdict.configuration.found import database_url as url_of
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.decisions import write_decisions
from verdict.kafka.log import KafkaLog
from verdict.projection.applier import database_failed
from verdict.projection.database import is_sqlite, one_line, open_database, parse, shown
from verdict.projection.declared import declared
from verdict.unhandled.events import HeldAggregates
from verdict.unhandled.kind import NothingWaits, Unhandled
from verdict.unhandled.letters import ParkedLetters
from verdict.unhandled.records import StoppingRecords
from verdict.wire.decision import Decision

app = typer.Typer(add_completion=False)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="As `list` prints it, such as us_holder/position/p-7.")
]
AllBehind = Annotated[
    bool, typer.Option("--all", help="Give up all that waits behind it in its aggregate, too.")
]
Document = Annotated[
    typer.FileBinaryRead,
    typer.Option("--file", metavar="FILE|-", help="The payload as JSON, as `show` prints it."),
]


def _events(engine: Engine, settings: Settings) -> Unhandled:
    return HeldAggregates(engine, declared(settings.chosen))


def _letters(engine: Engine, settings: Settings) -> Unhandled:
    return ParkedLetters(engine)


def _records(engine: Engine, settings: Settings) -> Unhandled:
    def decide(made: Decision) -> None:
        write_decisions(kafka_options(settings), settings.topics, [made])

    return StoppingRecords(engine, lambda: KafkaLog(kafka_options(settings)), decide)


KINDS: Sequence[Callable[[Engine, Settings], Unhandled]] = (_events, _records, _letters)


@app.callback()
def letters() -> None:
    """What could not be handled and waits: which there is; mend it, try it again, or give it up."""


@app.command("list")
def list_letters(json: Json = False) -> None:
    """List what waits: events that cannot be applied or never came, records, letters."""
    with settings_at_any_rate() as (settings, _), _kinds(settings) as kinds:
        found = [item for kind in kinds for item in kind.listed()]
    if json:
        for item in found:
            show_json(item)
        return
    columns = ("id", "since", "behind", "error")
    if not found:
        note("nothing waits")
        return
    rows = ([item[column] for column in columns] for item in found)
    made = table(*columns, numbers=("behind",))
    made.columns[0].no_wrap = True  # for people who copy it
    show(add_rows(made, rows))


@app.command("show")
def show_letter(id: Id, json: Json = False) -> None:
    """Show one: its payload, where it lies, why it waits, and what was done about it."""
    with _kind_of(id) as kind:
        facts = kind.shown(id)
    if json:
        show_json(facts)
        return
    show(add_rows(table("", ""), ([name, _told(value)] for name, value in facts.items())))


@app.command()
def edit(
    id: Id,
    file: Document,
    why: Why,
    by: Who = None,
) -> None:
    """Put another payload in the place of one, for the next try; the log is not changed.

    Of an event it holds for that projection only, also when it is built again. A payload that the
    event's class refuses is refused here. Of a letter the file is the whole value.
    """
    with _kind_of(id) as kind:
        note(kind.edit(id, file.read(), decided_by(by, why)))


@app.command()
def replay(
    id: Id,
    by: Who = None,
    why: WhyIfAny = None,
) -> None:
    """Try one again now, and what waits behind it; exit code 1 when it fails again.

    A letter is sent by the running service.
    """
    with _kind_of(id) as kind:
        note(kind.replay(id, decided_by(by, why)))


@app.command()
def evict(
    id: Id,
    why: Why,
    all_behind: AllBehind = False,
    by: Who = None,
) -> None:
    """Give one up; what waits behind it goes on.

    An event is passed over in that projection only, also when it is built again; so are versions
    that never came. A record that nobody can read is passed over by all. A letter stays on
    `dead-letters`.
    """
    with _kind_of(id) as kind:
        note(kind.evict(id, decided_by(by, why), all_behind))


@app.command()
def accept(
    id: Id,
    why: Why,
    by: Who = None,
) -> None:
    """Let `materialise` and `mail` go on while an aggregate waits: as it was before that event.

    It waits on, and what it waits for can still come, be mended or be given up.
    """
    with _kind_of(id) as kind:
        note(kind.accept(id, decided_by(by, why)))


@contextmanager
def _kind_of(address: str) -> Iterator[Unhandled]:
    """Give the kind that an address is of.

    Raises:
        NothingWaits: It is of none.
    """
    with _kinds(settings_of()) as kinds:
        kind = next((one for one in kinds if one.knows(address)), None)
        if kind is None:
            raise NothingWaits(address)
        yield kind


@contextmanager
def _kinds(settings: Settings) -> Iterator[list[Unhandled]]:
    """Give all kinds, on the read side that is set, or that of the running service.

    Raises:
        Unreachable: There is none, or it does not answer.
    """
    engine = _existing(url_of(settings))
    try:
        yield [kind(engine, settings) for kind in KINDS]
    except DBAPIError as error:
        problem = f"{shown(engine.url)}: {one_line(error.orig)}"
        raise (Unreachable if database_failed(error) else VerdictError)(problem) from error
    finally:
        engine.dispose()


def _existing(url: str) -> Engine:
    """Open a read side that is there; whoever only asks makes none."""
    parsed = parse(url)
    if is_sqlite(parsed) and not Path(parsed.database or "").is_file():
        raise Unreachable(
            f"there is no read side at {parsed.database}: is it the right data directory, and did "
            "`verdict up` start once?"
        )
    return open_database(url)


def _told(value: Any) -> Any:
    return json_text.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
