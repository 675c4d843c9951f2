"""`verdict history`: what was asked of one aggregate, refused or not, and what came of it."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import typer
from rich.text import Text

from verdict.cli.decoding import Kind
from verdict.cli.one_aggregate import Outcomes, Scanned, dead_letters, outcomes_of, scan, settle
from verdict.cli.options import AggregateType, Id, Json, settings_of
from verdict.cli.output import add_rows, note, show, show_json, table
from verdict.cli.repetitions import sent_again, with_repetitions
from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.decision.history import twice
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.chapters import (
    Fields,
    Place,
    chapters,
    nowhere,
    place_of,
    unended,
    with_ends,
)
from verdict.event_log.decided import quarantine_in_words, undecided_in_words
from verdict.event_log.decisions import jumping, passed_over, read_decisions
from verdict.event_log.event_log import Gone
from verdict.event_log.opened import event_log
from verdict.event_log.placed import Placed
from verdict.exactly_once.errors import UnreadableMarker
from verdict.kafka.offsets import AnyOffsets
from verdict.model.source import Source
from verdict.reading.reader import reader_of
from verdict.standing.markers import decider_marker
from verdict.wire.decision import Decision, active_quarantines
from verdict.wire.readable import readable

app = typer.Typer(add_completion=False)


@app.command()
def history(
    aggregate: AggregateType,
    id: Id,
    json: Json = False,
) -> None:
    """Show every command to one aggregate in the order of the verdicts, and its events.

    Events come from the archive as far as it goes, then from Kafka; outcomes from Kafka, and those
    that it has dropped from the view `outcome`; dead letters from Kafka. What is nowhere, and a
    quarantine, is named with exit code 1; skipped commands are named, too. A command that
    was sent again is shown once, with the places of its repetitions. With --json one object per
    command record: `command` (null when Kafka has dropped it), `response` (null when
    it has none), `events`, the dead `letter` (or null), and `decided` (false: its end is to come).
    """
    settings = settings_of()
    found, lacking = _told(settings, aggregate, id)
    if json:
        for chapter in found:
            show_json(chapter)
    elif found:
        rows = (row for chapter, again in with_repetitions(found) for row in _rows(chapter, again))
        show(add_rows(table("at", "version", "what", "", numbers=("version",)), rows))
    for one in lacking:
        note(one)
    if lacking:
        raise VerdictError(f"the history of {aggregate} {id!r} is not complete")
    if not found:
        raise VerdictError(f"there is no {aggregate} {id!r}: nothing that is known was asked of it")


def _told(settings: Settings, aggregate: str, name: str) -> tuple[list[Fields], list[str]]:
    """Return the chapters of an aggregate's history, and what they lack.

    What is published meanwhile may be seen of one topic only: so what lacks must lack twice, the
    second time when all of what was published at the first can be seen.
    """
    found: tuple[list[Fields], list[str]] = [], []
    again = _Told(settings, aggregate, name).told()
    while again[1] and again != found:
        settle(settings, aggregate, name)
        found, again = again, _Told(settings, aggregate, name).told()
    return again


class _Told:
    """One aggregate's history as it is found at one time."""

    def __init__(self, settings: Settings, aggregate_type: str, aggregate_id: str) -> None:
        self._settings = settings
        self._identity = aggregate_type, aggregate_id
        self._lacking = list[str]()
        self._altered = set[int]()

    def told(self) -> tuple[list[Fields], list[str]]:
        """Return what was asked, with its outcome and its events; and what is nowhere.

        Raises:
            Unreachable, VerdictError: As for `KafkaLog`.
        """
        before = self._before()  # first: how all of these ended is there then
        with jumping(kafka_options(self._settings), self._settings.topics) as log:
            note("reading the key's partitions from the beginning")
            commands, responses = (
                scan(log, self._settings.topics, kind, *self._identity)
                for kind in (Kind.COMMANDS, Kind.RESPONSES)
            )
            letters = dead_letters(log, self._settings.topics, *self._identity)
        decisions = read_decisions(kafka_options(self._settings), self._settings.topics)
        if commands.earliest:
            note(
                f"Kafka keeps commands for a while: those before {_text(commands)} are shown by "
                "what came of them"
            )
        found = [*chapters(commands.records, self._outcomes(responses), self._events())]
        found = with_ends(found, letters, before)
        self._judge(unended(found), decisions)
        for skip in decisions:
            is_near = (skip.source.topic, skip.source.partition) == commands.place
            if is_near and skip.source.offset < skip.until <= commands.earliest:
                note(f"whose command this was nobody knows: {undecided_in_words(skip)}")
        if (quarantine := active_quarantines(decisions).get(self._identity)) is not None:
            self._lacking.append(quarantine_in_words(quarantine))
        return found, [*self._lacking, *nowhere(found, self._altered)]

    def _before(self) -> AnyOffsets:
        """Return before which offsets commands are decided; nothing where that cannot be read."""
        try:
            marker = decider_marker(self._settings)
        except UnreadableMarker as error:
            self._lacking.append(str(error))
            marker = None
        return marker.offsets if marker else {}

    def _judge(self, places: Iterable[Place], decisions: Iterable[Decision]) -> None:
        """Say of decided commands without an end who decided so, or that they lack."""
        for place in places:
            of_it = [one for one in decisions if passed_over([one]).holds(*place)]
            for one in of_it:
                note(undecided_in_words(one))
            if not of_it:
                self._lacking.append(
                    f"how the command at {Source(*place)} ended is nowhere: the decider has come "
                    "past it, and there is neither an outcome nor a dead letter"
                )

    def _outcomes(self, responses: Scanned) -> list[Fields]:
        """Return the outcomes: those that Kafka has dropped, as far as SQL has them, then its."""
        bad = [one for one in responses.records if "error" in one]
        self._lacking += (f"response {_text_of(one)} cannot be read: {one['error']}" for one in bad)
        kept = [one for one in responses.records if "error" not in one]
        known = self._known(responses)
        if known.reached < responses.earliest:
            self._lacking.append(
                f"outcomes could be missing: the view has them up to {responses.place[0]}:"
                f"{responses.place[1]}:{known.reached}, and Kafka from {responses.earliest} on"
            )
        there = {place_of(one["source"]) for one in kept}
        return [one for one in known.rows if place_of(one["source"]) not in there] + kept

    def _known(self, responses: Scanned) -> Outcomes:
        try:
            with reader_of(self._settings) as reader:
                return outcomes_of(reader, responses.place, *self._identity)
        except Unreachable as error:
            note(f"without the view of outcomes: {error}")
            return Outcomes(0, [])

    def _events(self) -> list[Fields]:
        found, digests = dict[int, Fields](), dict[int, bytes]()
        with ExitStack() as parts:
            log = event_log(self._settings, parts, tell=note)
            for placed in log.history(*self._identity, self._passed_over):
                if isinstance(placed.content, str):
                    self._lacking.append(placed.content)
                    self._altered.add(placed.version)
                    continue
                digest = sha256(placed.stored.value).digest()
                if digests.setdefault(placed.version, digest) != digest:
                    self._lacking.append(twice(placed.version, digests[placed.version], digest))
                found.setdefault(placed.version, _fields(placed))
        return [found[version] for version in sorted(found)]

    def _passed_over(self, gone: Gone) -> None:
        self._lacking.append(str(gone))


def _fields(placed: Placed) -> Fields:
    return readable(placed.place) | readable(placed.stored.event)


def _text(scanned: Scanned) -> str:
    return ":".join(map(str, (*scanned.place, scanned.earliest)))


def _text_of(record: Fields) -> str:
    return ":".join(map(str, place_of(record)))


def _rows(chapter: Fields, repeated: list[Fields]) -> Iterator[tuple[Any, ...]]:
    response, letter = chapter["response"], chapter["letter"]
    if response is not None:
        yield _time(response["decided_at"]), "", response["command_type"], _about(response)
    elif letter is not None:
        yield _time(letter["received_at"]), "", _asked(chapter), _kept(letter)
    else:
        said = "its outcome is nowhere" if chapter["decided"] else "no verdict (yet)"
        yield "", "", _asked(chapter), Text(said, "yellow")
    for event in chapter["events"]:
        payload = dict(event["payload"])
        yield "", event["version"], f"  {payload.pop('type')}", _listed(payload)
    if repeated:
        yield "", "", "  sent again", Text(sent_again(repeated), "dim")


def _asked(chapter: Fields) -> str:
    """Return the type of a command as it was sent, whatever that is."""
    payload = (chapter["command"] or {}).get("payload")
    name = payload.get("type") if isinstance(payload, dict) else None
    return name if isinstance(name, str) else "?"


def _kept(letter: Fields) -> Text:
    about = Text("dead letter", "red").append(f": {letter['error']}", "default")
    return about.append(f" {_text_of(letter['source'])}, kept at {_text_of(letter)}", "dim")


def _about(response: Fields) -> Text:
    about = Text()
    if response["status"] == "ACCEPTED":
        about.append("ACCEPTED", "green")
    else:
        about.append(f"REJECTED {response['reason']}", "red")
        about.append(f": {response['message']}")
    if response["duplicate"]:
        about.append(" (duplicate)")
    return about.append(f" {response['command_id']}", "dim")


def _listed(fields: Fields) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items() if value is not None)


def _time(text: str) -> str:
    return text.replace("T", " ").removesuffix("Z")
