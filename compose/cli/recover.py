"""`verdict recover`: the decider's state, rebuilt from Kafka; the service must be stopped."""

from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console

from compose.cli.options import BootstrapServers, DataDir, Json, settings_of
from compose.cli.output import note, show_json
from compose.configuration.settings import Settings
from compose.foundation import lay_foundation
from compose.recovery.progress import Recovered
from compose.recovery.recovering import OnRecoveryStep, recover, unobserved

app = typer.Typer()

Shards = Annotated[
    int | None,
    typer.Option(min=1, help="How many states there will be.", show_default="as many as now"),
]


@app.command("recover")
def recover_command(
    shards: Shards = None,
    json: Json = False,
    data_dir: DataDir = None,
    bootstrap_servers: BootstrapServers = None,
) -> None:
    """Rebuild the decider's state from the events and responses in Kafka.

    For a checkpoint that was lost, damaged or restored, and to change the number of shards. The
    next `verdict up` goes on where the decider had published; versions continue, and command ids
    are remembered. Interrupted, it can be run again.
    """
    settings = settings_of(data_dir=data_dir, bootstrap_servers=bootstrap_servers)
    recovered = recover_alone(settings, shards)
    if json:
        show_json(recovered.facts())
    note(f"recovered {recovered}; start the service again with `verdict up`")


def recover_alone(
    settings: Settings, shards: int | None, on_step: OnRecoveryStep = unobserved
) -> Recovered:
    """Start what a recovery needs, recover with progress on stderr, and stop all of it.

    Raises:
        VerdictError: Something is missing or does not fit.
    """
    with ExitStack() as parts:
        status = parts.enter_context(Console(stderr=True).status("starting Kafka and Spark"))
        ground = lay_foundation(settings, parts)
        return recover(ground, settings, shards, status.update, on_step)
