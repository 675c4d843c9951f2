"""`verdict serve`: a page, metrics and REST by themselves, also while no service runs."""

import typer

from verdict.cli.options import settings_of
from verdict.cli.shutdown import StopRequest, stop_on_signals
from verdict.http.serving import Serving

app = typer.Typer()


@app.command()
def page() -> None:
    """Serve a page of the deployment until stopped: what runs, lives, traces, refusals, SQL.

    `verdict up` has it beside it unless the setting `page` is false. Metrics for Prometheus are at
    /metrics, health at /livez and /readyz, what programs ask at /openapi.json.
    """
    stopped = StopRequest()
    stop_on_signals(stopped)
    with Serving(settings_of()) as serving:
        typer.echo(f"page: {serving.url}")
        stopped.wait()
