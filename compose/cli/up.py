"""`verdict up`: everything in one process, until it is stopped."""

import logging
import signal
import threading
from contextlib import ExitStack

import typer
from rich.console import Console

from compose.application import Application
from compose.cli.options import BootstrapServers, DatabaseUrl, DataDir, settings_of
from compose.exactly_once.steps import OnStep, unobserved
from compose.settings import Settings

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
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _once(stopped))
    said = Console(stderr=True)
    with ExitStack() as running:
        with said.status("starting Kafka and Spark"):
            application = running.enter_context(Application(settings, on_step))
        service = application.service
        typer.echo(f"ready: Kafka {service.bootstrap_servers}, database {service.database_url}")
        application.run_until(stopped)
        said.print("stopping: the batch under way is finished first")


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    # what librdkafka only warns of, such as a coordinator that is still loading, it retries
    logging.getLogger("verdict.kafka").setLevel(logging.ERROR)


def _once(stopped: threading.Event):  # type: ignore[no-untyped-def]
    def handler(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(number, signal.SIG_DFL)

    return handler
