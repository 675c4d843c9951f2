"""`verdict warmup`: class archives that make later starts on this machine faster."""

import typer

from verdict.cli.options import settings_of
from verdict.cli.render import note, show_progress
from verdict.service.warming import warm_up as warmed

app = typer.Typer()


@app.command()
def warm() -> None:
    """Let the JVMs of Kafka and Spark save the classes that they load, for faster starts.

    A service runs for some seconds on temporary data; your data is not used. The files (300 MB) are
    in the cache folder of this user, and fit only this Java and these jars. Without them everything
    works, and starts take longer.
    """
    with show_progress("starting Kafka and Spark") as report:
        archives = warmed(settings_of().application, report)
    for archive in archives:
        note(f"{archive} ({archive.stat().st_size / 2**20:.0f} MiB)")
    if not archives:
        note("this Java writes no class archives: starts stay as slow as they are")
