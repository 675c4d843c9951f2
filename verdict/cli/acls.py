"""`verdict acls`: the ACLs that each role needs on Kafka."""

import shlex
from itertools import groupby
from typing import Annotated

import typer

from verdict.cli.options import Json, settings_of
from verdict.cli.render import show_json
from verdict.operations.acls import KafkaPrincipal
from verdict.operations.acls import acls as least

app = typer.Typer(add_completion=False)


@app.command()
def acls(
    role: Annotated[
        KafkaPrincipal | None, typer.Argument(help="Only this role.", show_default="all")
    ] = (None),
    principal: Annotated[
        str | None, typer.Option(help="The principal with the role.", show_default="User:ROLE")
    ] = None,
    json: Json = False,
) -> None:
    """Print the ACLs that each role needs, as arguments of Kafka's own tool.

    The decider is the service, `verdict up` and `recover`. A sender sends commands and waits, a
    subscriber follows events, and a reader calls the reading verbs. Put
    `kafka-acls.sh --bootstrap-server … --command-config …` before each line.
    """
    settings = settings_of()
    wanted = [
        one for one in least(settings.topics, settings.retry_topics) if role in (None, one.role)
    ]
    if json:
        for one in wanted:
            show_json(one._asdict() | {"principal": principal or f"User:{one.role}"})
        return
    for (who, resource, pattern, name), same in groupby(wanted, key=lambda one: one[:4]):
        operations = [word for one in same for word in ("--operation", one.operation)]
        call = [
            *("--add", "--allow-principal", principal or f"User:{who}", *operations),
            *(f"--{resource}", name, "--resource-pattern-type", pattern),
        ]
        typer.echo(shlex.join(call))
