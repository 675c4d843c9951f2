"""`verdict acls`: what Kafka must allow each role, and no more.

An administrator may create the topics, with `verdict topics create`; then the service
creates none. `Read` and `Write` imply `Describe`, which is not listed again.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from typing import Annotated, NamedTuple

import typer

from verdict.cli.options import Json, settings_of
from verdict.cli.render import show_json
from verdict.wire.topics import Topics

app = typer.Typer(add_completion=False)
MANY = "*"


class KafkaPrincipal(StrEnum):
    """A role in Kafka: the service, senders of commands, subscribers of events, readers of all."""

    DECIDER = "decider"
    SENDER = "sender"
    SUBSCRIBER = "subscriber"
    READER = "reader"


class Acl(NamedTuple):
    """One thing that a role may do; `pattern` is `literal` or `prefixed`."""

    role: KafkaPrincipal
    resource: str
    pattern: str
    name: str
    operation: str


@app.command()
def acls(
    role: Annotated[
        KafkaPrincipal | None, typer.Argument(help="Only this role.", show_default="all")
    ] = None,
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
    every = least_acls(settings.topics, settings.retry_topics)
    wanted = [one for one in every if role in (None, one.role)]
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


def least_acls(topics: Topics, retry_topics: Collection[str] = ()) -> list[Acl]:
    """Return what each role needs, sorted."""
    types = topics.application.aggregate_types
    every, ours = [one.name for one in topics.all()], [one.name for one in topics.all() if one.ours]
    decider, sender, subscriber, reader = KafkaPrincipal
    on_topics: list[tuple[KafkaPrincipal, str, Iterable[str]]] = [
        (decider, "DescribeConfigs", ours),
        (decider, "Read", every),
        # only the systems whose states these are write them
        (decider, "Write", (name for name in every if name not in topics.states)),
        (sender, "Write", topics.every_commands()),
        (sender, "Read", [topics.replies, *map(topics.responses, types)]),
        (subscriber, "Read", [*map(topics.events, types), topics.skips]),
        (reader, "DescribeConfigs", ours),
        (reader, "Read", every),
    ]
    found = {
        Acl(role, "topic", "literal", name, operation)
        for role, operation, names in on_topics
        for name in names
    }
    found |= {Acl(role, "group", "prefixed", "verdict-", "Describe")
              for role in (decider, subscriber, reader)}  # fmt: skip
    return sorted(found | {*_transactions(topics)} | {*_retries(retry_topics)})


def _transactions(topics: Topics) -> Iterator[Acl]:
    role, own = KafkaPrincipal.DECIDER, topics.transactional_id("")
    yield Acl(role, "transactional-id", "prefixed", own, "Write")
    # a deployment claims its topics under the name of the topic `owners`
    yield Acl(role, "transactional-id", "literal", topics.owners, "Write")
    yield Acl(role, "group", "prefixed", own, "Read")  # only for the lag that Kafka's tools show


def _retries(retry_topics: Iterable[str]) -> Iterator[Acl]:
    for name in retry_topics:
        beginning = name.removesuffix(MANY)
        pattern = "prefixed" if beginning and beginning != name else "literal"  # `*` alone is all
        yield Acl(KafkaPrincipal.DECIDER, "topic", pattern, beginning or MANY, "Write")
