"""`verdict warmup`: what makes every later start quicker, done once for this machine."""

import typer

from verdict.cli.options import settings_of
from verdict.cli.progress import show_progress
from verdict.cli.render import note
from verdict.service.warming import warm_up as warmed

app = typer.Typer()


@app.command()
def warm() -> None:
    """Let the JVMs of Kafka and Spark write down what they load, for every start after this.

    A service runs for some seconds on data of its own, and nothing of yours is touched. What is
    written (300 MB) lies in the cache folder of this user, for exactly this Java and these jars;
    without it everything runs as well and starts later.
    """
    with show_progress("starting Kafka and Spark") as tell:
        archives = warmed(settings_of().application, tell)
    for archive in archives:
        note(f"{archive} ({archive.stat().st_size / 2**20:.0f} MiB)")
    if not archives:
        note("this Java writes no class archive: starts take as long as before")
