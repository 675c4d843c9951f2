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
        one
        for one in least_acls(settings.topics, settings.retry_topics)
        if role in (None, one.role)
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


def least_acls(topics: Topics, retry_topics: Collection[str] = ()) -> list[Acl]:
    """Return what each role needs, sorted."""
    each = (
        *_decider(topics, retry_topics), *_sender(topics), *_subscriber(topics), *_reader(topics),
    )  # fmt: skip
    return sorted({*each})


def _decider(topics: Topics, retry_topics: Collection[str]) -> Iterator[Acl]:
    role, own = KafkaPrincipal.DECIDER, topics.transactional_id("")
    every = [topic.name for topic in topics.all()]
    yield from _topics(role, "DescribeConfigs", _ours(topics))
    yield from _topics(role, "Read", every)
    # none but who keeps the states of others writes these
    yield from _topics(role, "Write", (name for name in every if name not in topics.states))
    for name in retry_topics:
        beginning = name.removesuffix(MANY)
        pattern = "prefixed" if beginning and beginning != name else "literal"  # `*` alone is all
        yield Acl(role, "topic", pattern, beginning or MANY, "Write")
    yield Acl(role, "transactional-id", "prefixed", own, "Write")
    # whose topics these are is written under their own name, by whichever deployment
    yield Acl(role, "transactional-id", "literal", topics.owners, "Write")
    yield Acl(role, "group", "prefixed", own, "Read")  # only for the lag that Kafka's tools show
    yield Acl(role, "group", "prefixed", "verdict-", "Describe")


def _sender(topics: Topics) -> Iterator[Acl]:
    yield from _topics(KafkaPrincipal.SENDER, "Write", topics.every_commands())
    heard = [topics.replies, *map(topics.responses, topics.application.aggregate_types)]
    yield from _topics(KafkaPrincipal.SENDER, "Read", heard)


def _subscriber(topics: Topics) -> Iterator[Acl]:
    followed = [*map(topics.events, topics.application.aggregate_types), topics.skips]
    yield from _topics(KafkaPrincipal.SUBSCRIBER, "Read", followed)
    yield Acl(KafkaPrincipal.SUBSCRIBER, "group", "prefixed", "verdict-", "Describe")


def _reader(topics: Topics) -> Iterator[Acl]:
    yield from _topics(KafkaPrincipal.READER, "DescribeConfigs", _ours(topics))
    yield from _topics(KafkaPrincipal.READER, "Read", (topic.name for topic in topics.all()))
    yield Acl(KafkaPrincipal.READER, "group", "prefixed", "verdict-", "Describe")


def _ours(topics: Topics) -> Iterator[str]:
    return (topic.name for topic in topics.all() if topic.ours)


def _topics(role: KafkaPrincipal, operation: str, names: Iterable[str]) -> Iterator[Acl]:
    for name in names:
        yield Acl(role, "topic", "literal", name, operation)
