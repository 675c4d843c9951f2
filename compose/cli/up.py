"""`verdict up`: everything in one process, until it is stopped."""

import logging
import signal
import threading
from contextlib import ExitStack

import typer
from rich.console import Console

from compose.application import Application
from compose.cli.options import BootstrapServers, DatabaseUrl, DataDir, settings_of
from compose.configuration.settings import Settings
from compose.exactly_once.steps import OnStep, unobserved
from compose.sql.database import parse, shown

app = typer.Typer()


@app.command()
def up(
    data_dir: DataDir = None,
    bootstrap_servers: BootstrapServers = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run broker, decider and projections until stopped."""
    settings = settings_of(
        data_dir=data_dir,
        bootstrap_servers=bootstrap_servers,
        database_url=database_url,
    )
    serve(settings)


def serve(settings: Settings, on_step: OnStep = unobserved) -> None:
    """Run until SIGTERM or Ctrl-C, then stop cleanly; a second one stops at once.

    Raises:
        VerdictError: Something is missing or does not fit, or a part stopped.
    """
    _log_to_stderr()
    stopped = threading.Event()
    _stop_on_signals(stopped)
    said = Console(stderr=True)
    with ExitStack() as running:
        with said.status("starting Kafka and Spark") as status:
            started = Application(settings, on_step, status.update)
            application = running.enter_context(started)
        _stop_on_signals(stopped)  # Spark has put its own handler of Ctrl-C in place of ours
        service = application.service
        database = shown(parse(service.database_url))
        typer.echo(f"ready: Kafka {service.bootstrap_servers}, database {database}")
        application.run_until(stopped)
        said.print("stopping: the batch under way is finished first")


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    # what librdkafka only warns of, such as a coordinator that is still loading, it retries
    logging.getLogger("verdict.kafka").setLevel(logging.ERROR)
    # whatever ends a batch is kept and said by those who look after the queries; here it would be
    # pages of Java, and at a clean stop too, when the batch under way is cancelled
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def _stop_on_signals(stopped: threading.Event) -> None:
    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
