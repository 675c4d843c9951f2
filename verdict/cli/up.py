"""`verdict up` and `verdict run`: all roles in one process, or one, until it is stopped."""

import logging
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from verdict.cli.options import settings_of
from verdict.cli.progress import show_progress
from verdict.cli.render import note
from verdict.cli.shutdown import (
    LEAVE_S,
    StopRequest,
    exit_quietly,
    exit_within,
    shut_down,
    silence_py4j,
    stop_on_signals,
)
from verdict.service.role_set import RoleSet
from verdict.service.running import ServiceProcess
from verdict.settings.database_address import masked_url, parse
from verdict.settings.discovery import AnnouncedService
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.wire.terminal import escape_lines

if TYPE_CHECKING:
    from verdict.http.serving import Serving

app = typer.Typer()


@app.command()
def up() -> None:
    """Run broker, decider and projections until stopped."""
    serve(settings_of())


def serve(
    settings: Settings, on_step: OnStep = ignore_step, role_set: RoleSet | None = None
) -> None:
    """Run until SIGTERM or Ctrl-C, then stop cleanly; a second one stops at once.

    Without a role set all roles run. When an essential component ends, its error is printed, and
    the process ends with the error's exit code.

    Raises:
        VerdictError: Something is missing or does not fit: it did not start.
    """
    _log_to_stderr()
    stopped, started, heard = StopRequest(), threading.Event(), threading.Event()
    stop_on_signals(stopped)
    exit_quietly(stopped, started, heard)  # a start may hang, too
    said = Console(stderr=True)
    with ExitStack() as parts:
        page = None if role_set else _page(settings, parts)
        if not said.is_terminal:  # a line that changes is not seen there
            note(_starting(role_set))
        with show_progress(_starting(role_set)) as tell:
            url = page.url if page else None
            running = parts.enter_context(ServiceProcess(settings, on_step, tell, role_set, url))
        _stay(page, parts)
        started.set()
        stop_on_signals(stopped)  # Spark has put its own handler of Ctrl-C in place of ours
        typer.echo(_ready(running.service))
        failure = _until(stopped, running)
        heard.set()
        if failure is not None:
            shut_down(failure, parts.close)
        said.print(stopping(stopped.by, running.kafka_is_there))
        if not running.kafka_is_there:
            exit_within(LEAVE_S, 0)


def _page(settings: Settings, parts: ExitStack) -> "Serving | None":
    """Begin to serve the page, which tells of the start too, if it is wanted.

    Raises:
        VerdictError: It cannot listen where it should.
    """
    if not settings.page:
        return None
    try:
        from verdict.http.serving import Serving
    except ModuleNotFoundError as error:
        note(f"no page, as {error.name} is not installed: pip install 'verdict-cqrs[page]'")
        return None
    return parts.enter_context(Serving(settings, beside=True))


def _stay(page: "Serving | None", parts: ExitStack) -> None:
    """Keep the page's port for the next start; end it before Kafka, which its clients ask."""
    if page:
        page.stay()
        parts.callback(page.stop)


def _starting(role_set: RoleSet | None) -> str:
    return (
        "starting Kafka and Spark" if role_set is None else f"starting {' '.join(role_set.names)}"
    )


def _ready(service: AnnouncedService) -> str:
    page = f", page {service.page_url}" if service.page_url else ""
    database = (
        f", database {masked_url(parse(service.database_url))}" if service.database_url else ""
    )
    return f"ready: Kafka {service.bootstrap_servers}{page}{database}"


def stopping(signal: str, kafka_is_there: bool) -> str:
    """Return what is said when a signal has asked a service to stop."""
    if kafka_is_there:
        return f"stopping on {signal}: the batch under way is finished first"
    return f"stopping on {signal}: Kafka is away, what is under way is left to the next start"


def _until(stopped: threading.Event, running: ServiceProcess) -> Exception | None:
    """Return when `stopped` is set, or with what ended the service."""
    try:
        running.run_until(stopped)
    except Exception as error:
        return error
    return None


class _Spelled(logging.Formatter):
    """Spells out what ids and messages of others hold that would steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_lines(super().format(record))


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Spelled("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # what librdkafka only warns of, such as a coordinator that is still loading, it retries
    logging.getLogger("verdict.kafka").setLevel(logging.ERROR)
    # whatever ends a batch is kept and said by those who look after the queries; here it would be
    # pages of Java, and at a clean stop too, when the batch under way is cancelled
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    silence_py4j()
