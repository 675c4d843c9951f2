"""`verdict status`: what runs, how far it has come, and what stands still."""

import time
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from verdict.cli.options import Json, settings_of
from verdict.cli.output import add_rows, show, show_json, table
from verdict.cli.standing import Facts, complaints, standing
from verdict.errors import Unreachable, VerdictError

app = typer.Typer(add_completion=False)

WATCH_S = 2


@app.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is wrong only; exit code 1 if anything is.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the service, the decider's lag, each projection's, and the letters.

    Lag is counted in offsets, of which a transaction takes one more than it has records.
    Exit code 5 when Kafka or the database cannot be asked; with --check, which is for cron and
    monitoring, 1 when anything else stands still, or no service runs.
    """
    if watch + json + check > 1:
        raise typer.BadParameter(
            "--watch shows a page, --json one answer, --check what is wrong: give one of them"
        )
    settings = settings_of()
    if watch:
        with Live(console=Console(), screen=False, auto_refresh=False) as live:
            while True:
                live.update(_page(standing(settings)), refresh=True)
                time.sleep(WATCH_S)
    facts = standing(settings)
    wrong = complaints(facts)
    if json:
        show_json(facts)
    elif check:
        show(*wrong)
    else:
        show(_page(facts))
    if facts["unreachable"]:
        raise typer.Exit(Unreachable.exit_code)
    if check and wrong:
        raise typer.Exit(VerdictError.exit_code)


def _page(facts: Facts) -> Group:
    parts: list[RenderableType] = [_service(facts)]
    if decider := facts["decider"]:
        about = (
            f"decider  generation {decider['generation']}, batch {decider['batch_id']}, "
            f"{decider['shards']} shards, rules {decider['handler_version']}\n"
            f"         owner {decider['owner']}"
        )
        parts += [Text(about), Text()]
        numbers = ("partition", "decided", "end", "lag")
        shown = table("commands topic", *numbers, numbers=numbers)
        rows = ([row["topic"], *(row[name] for name in numbers)] for row in facts["commands"])
        parts += [add_rows(shown, rows), Text()]
    if facts["processors"]:
        shown = table("processor", "generation", "lag", numbers=("generation", "lag"))
        every = facts["processors"]
        rows = ([one["processor"], one["generation"], one["lag"]] for one in every)
        parts += [add_rows(shown, rows), Text()]
    if facts["projections"]:
        live = [p for p in facts["projections"] if p["role"] == "live"]
        counts = ("version", "lag", "held")
        shown = table("projection", *counts, "state", numbers=counts)
        rows = ([p["projection"], p["version"], p["lag"], len(p["held"]), _state(p)] for p in live)
        parts += [add_rows(shown, rows), Text()]
    if letters := facts["letters"]:
        standing_by = f"{letters['waiting']} waiting, {letters['parked']} parked"
        parts += [Text(f"letters  {standing_by}, lag {letters['lag']}"), Text()]
    parts += [Text(f"! {problem}", "red") for problem in facts["problems"]]
    return Group(*parts)


def _service(facts: Facts) -> Text:
    service = facts["service"]
    if service is None:
        return Text("service  down", "red")
    page = f", page {service['page_url']}" if service["page_url"] else ""
    about = Text("service  ").append("up", "green")
    return about.append(f"  pid {service['pid']}, Kafka {service['bootstrap_servers']}{page}")


def _state(projection: Facts) -> Text:
    if projection["parked"]:
        return Text("stopped", "red")
    return Text("holds", "yellow") if projection["held"] else Text("follows", "green")
