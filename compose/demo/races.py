"""Chapter: what goes wrong elsewhere: races, repeats and garbage."""

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from commands.order import DeleteOrder, ModifyOrder, PlaceOrder
from compose.demo.story import Story
from verdict import Command, Reason, Response
from verdict.client import Status

GARBAGE = b"\x00\xffthis is no command"


def order(quantity: int = 10) -> PlaceOrder:
    """Return what is asked for in this chapter."""
    return PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=quantity, limit_price_cents=19_000
    )


# what must be true, of what order and version, and what the producers A and B send at once
RACES: Sequence[tuple[str, str, int, tuple[Command, Command]]] = (
    ("DeleteOrder and ModifyOrder", "order-1", 1, (DeleteOrder(), ModifyOrder(quantity=7))),
    ("two PlaceOrder", "order-2", 0, (order(), order(9))),
    ("two ModifyOrder", "order-2", 1, (ModifyOrder(quantity=7), ModifyOrder(quantity=8))),
)


def tell(story: Story) -> None:
    """Race two producers for one version, repeat a command, send an unreadable record."""
    voice, (first, second) = story.voice, story.clients
    voice.begin(
        "Races, repeats, garbage",
        "Kafka cannot append on condition, so two services that both saw version 1 both write. "
        "Here one Spark query decides. Of two commands on one version exactly one wins. A repeated "
        "command gets its first outcome again. Garbage stops nothing.",
    )
    begun = story.outcome(first.send("order-1", order(), expected_version=0))
    pairs = [_race(story, name, version, sent) for _, name, version, sent in RACES]
    named = [
        story.outcome(second.send("order-3", asked, expected_version=0, command_id="c-17"))
        for asked in (order(), order(), order(11))
    ]
    garbage = _garbage(story)
    lines = [_line("A", "PlaceOrder", begun)]
    lines += [_line(by, str(one.command_type), one) for pair in pairs for by, one in pair]
    for what, one in zip(("PlaceOrder", "same again", "id reused"), named, strict=True):
        lines.append(_line("B", what, one))
    lines += [("-", "garbage", Text("dead letter", "yellow"), one["error"]) for one in garbage]
    voice.show(("by", "sent", "verdict", "why"), lines)
    for (both, _, version, _), pair in zip(RACES, pairs, strict=True):
        what = f"of {both} on version {version} exactly one wins"
        voice.expect(what, race_result(version), verdicts([one for _, one in pair]))
    voice.expect(
        "the same command sent twice is decided once, with one outcome for both",
        [(Status.ACCEPTED, False, 1), (Status.ACCEPTED, True, 1)],
        [(one.status, one.duplicate, one.to_version) for one in named[:2]],
    )
    refused = "another command under a used id is refused"
    voice.expect(refused, Reason.COMMAND_ID_REUSED, named[2].reason)
    kept = [b64decode(letter["bytes"]) for letter in garbage]
    voice.expect("garbage is kept in dead-letters, byte for byte", [GARBAGE], kept)


def race_result(version: int) -> list[tuple[str, int | None]]:
    """Return what the verdicts on two commands at the same version must be."""
    return [(Status.ACCEPTED, version), (Reason.VERSION_CONFLICT, version + 1)]


def verdicts(answers: Sequence[Response]) -> list[tuple[str, int | None]]:
    """Return verdict and the version that was found, the winner's first."""
    found: list[tuple[str, int | None]] = [
        (one.reason, one.actual_version) if one.reason else (one.status, one.from_version)
        for one in answers
    ]
    return sorted(found, key=lambda pair: pair[0] != Status.ACCEPTED)


def _race(
    story: Story, order_id: str, version: int, commands: tuple[Command, Command]
) -> list[tuple[str, Response]]:
    """Send one command through each client, back to back, and return by whom and the verdict."""
    both = zip(story.clients, commands, strict=True)
    pending = [client.send(order_id, one, expected_version=version) for client, one in both]
    return [(by, story.outcome(sent)) for by, sent in zip("AB", pending, strict=True)]


def _garbage(story: Story) -> list[dict[str, Any]]:
    story.kafka.produce("order.commands", b"order-4", GARBAGE)
    story.kafka.flush()
    story.settle()
    letters = story.service.verb("tail", "dead-letters", "--no-follow").stdout
    return [json.loads(line) for line in letters.splitlines()]


def _line(producer: str, sent: str, answer: Response) -> tuple[str, str, Text, str]:
    again = ", answered from memory" if answer.duplicate else ""
    versions = (
        f"{answer.aggregate_type} {answer.aggregate_id!r} "
        f"version {answer.from_version} to {answer.to_version}{again}"
    )
    verdict = Text(answer.reason or answer.status, "red" if answer.reason else "green")
    return producer, sent, verdict, answer.message or versions
