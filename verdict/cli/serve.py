"""`verdict serve`: the page, metrics and REST in a process of their own."""

import typer

from verdict.cli.options import settings_of
from verdict.cli.shutdown import StopRequest
from verdict.http.serving import Serving

app = typer.Typer()


@app.command()
def page() -> None:
    """Serve the page of the deployment until stopped, also while no service runs.

    `verdict up` serves it too, unless the setting `page` is false. Metrics for Prometheus are at
    /metrics, health at /livez and /readyz, and /openapi.json describes REST.
    """
    stop = StopRequest()
    stop.listen()
    with Serving(settings_of()) as serving:
        typer.echo(f"page: {serving.url}")
        stop.wait()
