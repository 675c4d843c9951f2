"""`verdict up`, `run` and `warmup`: all roles in one process, one of them, or a first start."""

import logging
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from confluent_kafka import Producer
from rich.console import Console

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.class_data_sharing import recorded
from verdict.adapters.spark.session import end_jvm
from verdict.cli.options import settings_of
from verdict.cli.render import note, show_progress
from verdict.cli.shutdown import (
    HUNG,
    STOP_S,
    STOPPED_AT_START,
    StopRequest,
    exit_timer,
    shut_down,
)
from verdict.errors import VerdictError
from verdict.service.log_output import log_to_stderr
from verdict.service.role_set import RoleSet, alone, with_kafka
from verdict.service.roles import ROLES
from verdict.service.running import ServiceProcess
from verdict.settings.database_address import masked_url, parse
from verdict.settings.discovery import AnnouncedService
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step

if TYPE_CHECKING:
    from verdict.http.serving import Serving

app = typer.Typer()
LOOK_S = 0.2


@app.command()
def up() -> None:
    """Run broker, decider and projections until stopped."""
    serve(settings_of())


@app.command()
def run(
    role: Annotated[str, typer.Argument(help=", ".join(one.name for one in ROLES))],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Of projections; all, if none is given.", show_default=False
        ),
    ] = None,
) -> None:
    """Run one role of the deployment until stopped; the others are processes of their own.

    Each has its own lock, its own restart and, if it needs it, its own Spark, here or on another
    machine; a second process of the same role is refused. Kafka is the one that is set, or that of
    `verdict run broker` on the same data directory.
    """
    settings = settings_of()
    role_set = alone(settings, role, names or ())
    serve(with_kafka(settings, role), role_set=role_set)


@app.command()
def warmup() -> None:
    """Let the JVMs of Kafka and Spark save the classes that they load, for faster starts.

    A service runs for some seconds on temporary data; your data is not used. The files (300 MB) are
    in the cache folder of this user, and fit only this Java and these jars. Without them everything
    works, and starts take longer.
    """
    application = settings_of().application
    with (
        show_progress("starting Kafka and Spark") as report,
        tempfile.TemporaryDirectory(prefix="verdict-") as folder,
        recorded() as archives,
    ):
        settings = settings_alone(application, data_dir=Path(folder))
        with ServiceProcess(settings, tell=report) as running:
            _let_one_be_refused(running)
        report("saving the classes")
        end_jvm()
    for archive in archives:
        note(f"{archive} ({archive.stat().st_size / 2**20:.0f} MiB)")
    if not archives:
        note("this Java writes no class archives: starts stay as slow as they are")


def _let_one_be_refused(running: ServiceProcess) -> None:
    """Let a record that is no command go the whole way, into the table of dead letters.

    Any application can do that. Rules run in Python: for a JVM most commands are alike.
    """
    topics = running.settings.topics
    servers = {"bootstrap.servers": running.service.bootstrap_servers}
    producer = Producer(servers)
    producer.produce(topics.every_commands()[0], b"no command", b"warm")
    producer.flush()
    with KafkaLog(servers) as log:
        places = log.places([topics.dead_letters])
        while not any(kept.end for kept in log.bounds(places).values()):
            running.check()
            time.sleep(LOOK_S)


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
    stop, console = StopRequest(), Console(stderr=True)
    starting = exit_timer(STOP_S, 0, STOPPED_AT_START)
    stop.listen(starting.start)  # a start may hang, too
    with ExitStack() as parts:
        start = f"starting {' '.join(role_set.names) if role_set else 'Kafka and Spark'}"
        if not console.is_terminal:  # a line that changes is not seen there
            note(start)
        with show_progress(start) as report, ThreadPoolExecutor(1) as importing:
            page = importing.submit(_page, settings, parts, role_set)  # while the JVMs start
            url = partial(_url, page)
            running = parts.enter_context(ServiceProcess(settings, on_step, report, role_set, url))
        _keep_page(page.result(), parts)
        starting.cancel()
        hung = exit_timer(STOP_S, VerdictError.exit_code, HUNG)
        stop.listen(hung.start)
        typer.echo(_ready(running.service))
        failure = _failure_until(stop, running)
        hung.cancel()
        if failure is not None:
            shut_down(failure, parts.close)
        console.print(stopping(stop.by, running.kafka_is_there))
        if not running.kafka_is_there:
            exit_timer(STOP_S, 0).start()


def _page(settings: Settings, parts: ExitStack, role_set: RoleSet | None) -> "Serving | None":
    """Serve the page if it is wanted, from the start on; a role by itself has none.

    Raises:
        VerdictError: It cannot listen where it should.
    """
    if role_set or not settings.page:
        return None
    try:
        from verdict.http.serving import Serving
    except ModuleNotFoundError as error:
        note(f"no page, as {error.name} is not installed: pip install 'verdict-cqrs[page]'")
        return None
    return parts.enter_context(Serving(settings, with_service=True))


def _url(page: "Future[Serving | None]") -> str | None:
    found = page.result()
    return found.url if found else None


def _keep_page(page: "Serving | None", parts: ExitStack) -> None:
    """Keep the page's port for the next start, and stop the page before Kafka, which it uses."""
    if page:
        page.keep_port()
        parts.callback(page.stop)


def _ready(service: AnnouncedService) -> str:
    page = f", page {service.page_url}" if service.page_url else ""
    database = (
        f", database {masked_url(parse(service.database_url))}" if service.database_url else ""
    )
    return f"ready: Kafka {service.bootstrap_servers}{page}{database}"


def stopping(signal: str, kafka_is_there: bool) -> str:
    """Return what to print when a signal has asked a service to stop."""
    if kafka_is_there:
        return f"stopping on {signal}: the current batch is finished first"
    return f"stopping on {signal}: Kafka does not answer, the next start repeats the current batch"


def _failure_until(stop: StopRequest, running: ServiceProcess) -> Exception | None:
    try:
        running.run_until(stop)
    except Exception as error:
        return error
    return None


def _log_to_stderr() -> None:
    log_to_stderr()
    # a query reports what ends its batches itself; here it would be pages of Java, and at a
    # clean stop too, when the current batch is cancelled
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
