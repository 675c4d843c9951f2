"""Writes `docs/reference/`: what the code says of its names, so that no page says it otherwise.

`make reference` runs it; a test compares what is there with what it would write.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill

from fastapi.openapi.utils import get_openapi
from pydantic.fields import FieldInfo

from compose.application import app
from compose.settings import BusinessSettings
from docs.errors import catalogue
from docs.python_reference import python_reference
from verdict.cli.application import PANEL
from verdict.cli.describe import type_of
from verdict.cli.send_file import REJECTED
from verdict.cli.verbs import VERBS, loaded
from verdict.errors import EnvironmentIncompleteError, TimedOutError, UnreachableError, VerdictError
from verdict.http.application import page_of
from verdict.http.commands import ANSWERS
from verdict.http.metrics import METRICS
from verdict.read_side.catalog import projections
from verdict.read_side.projections.documented_view import about_view, columns_of
from verdict.read_side.schema.system_views import views_of
from verdict.settings.load import settings_alone
from verdict.wire import dead_letter_record as letter
from verdict.wire.topics import FOREVER, Topic, Topics

FOLDER = Path(__file__).parent / "reference"
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
WIDTH = 96  # characters: in a block of text nothing else breaks a line
WRITTEN = "<!-- written by `make reference` -->"

ERRORS_OF_PAGE = """\
Every other error has problem details (RFC 9457, `application/problem+json`) with `type`, `title`,
`status` and `detail`. The `type` is `urn:verdict:error:` and a name among the [errors](errors.md),
or `about:blank`. `errors` names wrong parameters. `command_id` is that of a command that was not
sent. A browser that asks for HTML gets a page.

The page is also a schema registry that only reads, with the addresses and errors of Confluent's:
`/schemas/ids/{id}`, `/subjects/…` and `/config/…`.

Only the form of a command is checked before it is sent. A command that is refused with a problem is
recorded nowhere. One that is rejected is in the view `outcome`.
"""

HOLDS = {
    ".commands": "commands, Avro or JSON",
    ".events": "events, each with the hash of the previous event of its aggregate",
    ".responses": "one response per command",
    ".rejected": "each rejection once, with the command's bytes",
    "dead-letters": "records that could not be processed, with their bytes and position",
    "retry": "dead letters that are tried again, unless they name another topic",
    "share-holders": "positions of another system, for `us_holder_from_state`",
    "POS": "invoices as tills send them: JSON, key = store",
    "shipment": "the invoice of each home delivery: JSON, key = invoice number",
    "loyalty": "points of an invoice and their total: JSON, key = card",
    ".replies": "copies of responses; the key is the header `reply_to` of the command",
    ".progress": "progress records of the decider, the policies and the lake",
    ".skips": "recorded decisions of operators to skip records",
    "owners": "the deployment that owns the topics with this prefix, with their ids",
}
HEADERS = {
    letter.RETRY_ATTEMPT: ("retries made so far", "0"),
    letter.RETRY_ATTEMPTS: ("how many there may be, then it is parked", "`retry_attempts`"),
    letter.RETRY_TOPIC: (
        "where to go back to: a commands topic, `POS`, `retry`, or what the setting `retry_topics` "
        "opens",
        "`retry`",
    ),
    letter.RETRY_BACKOFF: (
        "how long to wait before each: `fixed:1s,10s,1m`, `exponential:1s,2,1h` (first, factor, "
        "longest), or a name among the `backoffs` of the application, a function from a "
        "`DeadLetterRecord` "
        "to seconds",
        "`retry_backoff`",
    ),
    letter.RETRY_ID: ("set on the way out: a retry that is sent twice carries the same", ""),
    letter.RETRY_POLICY: ("of verdict's own dead letters: which policy or notification failed", ""),
}
CODES = (
    (0, "it is done"),
    (VerdictError.exit_code, "failure; the message says what happened and what to do"),
    (2, "wrong command line"),
    (REJECTED, "rejected, which is a result"),
    (TimedOutError.exit_code, "timed out waiting: what was awaited may still happen"),
    (UnreachableError.exit_code, "Kafka, the database or the mail server does not answer"),
    (EnvironmentIncompleteError.exit_code, "this machine lacks Java, a jar or a fitting Python"),
    (130, "Ctrl-C"),
)


def pages() -> dict[str, str]:
    """Return every page of the reference by its file name."""
    written = {
        "index.md": _index(),
        "views.md": _views(),
        "topics.md": _topics(),
        "settings.md": _settings(),
        "command-line.md": _command_line(),
        "page.md": _page(),
        "python.md": python_reference(),
        "errors.md": catalogue(),
    }
    return {name: "\n".join((WRITTEN, "", *lines, "")) for name, lines in written.items()}


def write() -> None:
    """Put the pages in the place of those that are there."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table; a line has no break in a cell."""
    heads = [*heads]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _index() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Generated from the code by `make reference`; a test compares it with the code."
    yield ""
    yield "- [Views](views.md): what `verdict sql` can select, with all columns"
    yield "- [Topics](topics.md): names, retention and settings; the headers of dead letters"
    yield "- [Settings](settings.md): names, types, defaults"
    yield "- [Command line](command-line.md): verbs, options, exit codes"
    yield "- [Page](page.md): addresses, and metrics for Prometheus"
    yield "- [Python](python.md): public names by module, with signatures and docstrings"
    yield "- [Errors](errors.md): refusals and errors by name: what each means, what to do"


def _views() -> Iterator[str]:
    yield "# Views"
    yield ""
    yield "In SQLite and PostgreSQL alike; times are ISO 8601 texts in one, `timestamptz` in the"
    yield "other. How to ask them: [using](../using.md#query-tables)."
    for name, view in views_of(projections(app)).items():
        yield from ("", f"## {name}", "", about_view(view), "")
        yield from table(("column", "type", "about"), columns_of(view))


def _topics() -> Iterator[str]:
    yield "# Topics"
    yield ""
    yield "Created at the start when they are missing, and checked: a setting that differs refuses"
    yield "the start and is named. Keys are aggregate ids. Values are Avro in Confluent's framing;"
    yield "schemas and ids are in `schemas/avro/` and `verdict/wire/avro/`, and no registry is"
    yield "needed. Events and dead letters are CloudEvents 1.0 by their headers; what follows from"
    yield "a command carries its `traceparent`. Read with `isolation.level=read_committed`. The"
    yield "setting `topic_prefix` precedes each name. `verdict.…` begins with the `deployment`."
    yield ""
    yield from table(
        ("topic", "holds", "kept", "partitions"),
        (
            (f"`{topic.name}`", _holds(topic.name), kept(topic), str(topic.partitions))
            for topic in Topics(app).all()
        ),
    )
    yield ""
    yield "## Headers of dead letters"
    yield ""
    yield "All of them optional, texts in UTF-8; of one that is there twice the last counts."
    yield ""
    rows = ((f"`{name}`", *said) for name, said in HEADERS.items())
    yield from table(("header", "means", "else"), rows)


def _holds(name: str) -> str:
    return next(said for part, said in HOLDS.items() if name == part or name.endswith(part))


def kept(topic: Topic) -> str:
    """Return for how long a topic keeps its records."""
    retention = topic.settings.get("retention.ms")
    if retention is None:
        return "compacted"
    if retention == FOREVER:
        return "without limit"
    days, rest = divmod(int(retention), DAY_MS)
    return f"{days} days" if days else f"{rest // HOUR_MS} h"


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "Flag > `VERDICT_…` in the environment > `.env` > `verdict.toml` (both in the working"
    yield "directory) > default. An unknown name in a file is an error, one in the environment is"
    yield "warned of; `verdict config show` says where each value comes from. `deployment` is set"
    yield 'as `VERDICT_DEPLOYMENT`, or as `deployment = "…"` in `verdict.toml`. Anything else of'
    yield 'Kafka passes through: `VERDICT_KAFKA={"…": "…"}` by librdkafka\'s names, `spark_kafka`'
    yield "by Java's; `verdict.toml` has them as tables."
    yield ""
    types = BusinessSettings.model_json_schema()["properties"]
    yield from table(
        ("setting", "type", "default", "meaning"),
        (
            (
                f"`{name}`",
                type_of(types[name]),
                _default(name, field),
                field.description or "",
            )
            for name, field in BusinessSettings.model_fields.items()
        ),
    )


def _default(name: str, field: FieldInfo) -> str:
    if name == "data_dir":
        return "per user"
    value = field.get_default()
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value) if value else "0" if value == 0 else ""


def _command_line() -> Iterator[str]:
    yield "# Command line"
    yield ""
    alone = " and ".join(f"`{one.name}`" for one in (*VERBS, *app.verbs) if one.alone)
    yield f"Data on stdout, all else on stderr. Every verb but {alone} also takes where its service"
    yield "is: `--data-dir`, `--deployment`, `--bootstrap-servers`, `--database-url`; and `--app`,"
    yield "before the verb too, and `--help`."
    yield ""
    yield "## Exit codes"
    yield ""
    yield from table(("code", "means"), ((str(code), said) for code, said in CODES))
    for verb in (*VERBS, *app.verbs):
        command = loaded(verb)
        yield from ("", f"## verdict {verb.name}")
        for name, leaf in getattr(command, "commands", {}).items():
            yield from ("", f"### verdict {verb.name} {name}")
            yield from _leaf(leaf)
        if not hasattr(command, "commands"):
            yield from _leaf(command)


def _leaf(command: object) -> Iterator[str]:
    about, params = getattr(command, "help", ""), getattr(command, "params", [])
    lines = (fill(line, WIDTH, break_on_hyphens=False) for line in about.strip().splitlines())
    yield from ("", "```text", *lines, "```")
    shown = [one for one in params if one.rich_help_panel != PANEL and not one.hidden]
    if rows := [_option(one) for one in shown if "completion" not in one.name]:
        yield ""
        yield from table(("option", "", "default"), rows)


def _option(param: object) -> tuple[str, str, str]:
    names, said = getattr(param, "opts", []), getattr(param, "show_default", None)
    optional = getattr(param, "param_type_name", "") == "option"
    shown = ", ".join(names) if optional else str(getattr(param, "name", "")).upper()
    if optional and (takes := getattr(param, "metavar", None)):
        shown = f"{shown} {takes}"
    default = getattr(param, "default", None)
    given = said if isinstance(said, str) else "" if default in (None, False, ()) else str(default)
    return f"`{shown}`", getattr(param, "help", "") or "", given


def _page() -> Iterator[str]:
    yield "# Page"
    yield ""
    yield "What `verdict up` and `verdict serve` serve; see [operating](../operating.md#the-page)."
    yield ""
    yield from table(("address", "answers"), ((f"`{path}`", said) for path, said in addresses()))
    yield ""
    yield "Reading is free, but what is personal is null without the token; `/read` takes values of"
    yield "columns, `_limit` (at most 1000) and `_offset`, `/history` the latter two; `next` is the"
    yield "address of the next page. `/openapi.json` describes all of it for programs: commands,"
    yield "states and events by their classes, views by their columns, and errors. A command is"
    yield "answered by its status, and as `verdict send --json` does:"
    yield ""
    yield from table(
        ("status", "means"), ((f"{n}", a["description"]) for n, a in sorted(ANSWERS.items()))
    )
    yield ""
    yield ERRORS_OF_PAGE
    yield "## Metrics"
    yield ""
    yield "At `/metrics`: measured at each scrape, with those of the page's process (`process_…`)."
    yield "An unknown metric has no value. A `component` is `decider`, `policies`, `lake`,"
    yield "`dead-letters` or a live projection."
    yield ""
    yield from table(
        ("metric", "labels", "meaning"),
        (
            (f"`{name}`", ", ".join(group.labels), about)
            for group in METRICS
            for name, about in group.meanings.items()
        ),
    )


def addresses() -> Iterator[tuple[str, str]]:
    """Yield the addresses of the page, and what each answers."""
    described = get_openapi(title="", version="", routes=page_of(settings_alone(app)).routes)
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation["description"]


if __name__ == "__main__":
    write()
