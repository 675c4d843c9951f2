"""Chapter: what goes wrong elsewhere: races, repeats and garbage."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from commands.order import DeleteOrder, ModifyOrder, PlaceOrder
from compose.demo.holders import produce
from compose.demo.settling import settle
from compose.demo.story import Story
from verdict import Client, Command, Reason, Response, Status
from verdict.cli.positions import From, spans
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode

GARBAGE = b"\x00\xffthis is no command"
NAMES = ("A", "B")


class Entry(NamedTuple):
    """A line of the chapter's table."""

    producer: str
    sent: str
    verdict: Text
    why: str


def tell(story: Story) -> None:
    """Race two producers for one version, repeat a command, send what nobody can read."""
    story.voice.begin(
        "Races, repeats, garbage",
        "Kafka cannot append on condition, so two services that both saw version 1 both write. "
        "Here one operator decides: of two commands on one version exactly one wins, a repeated "
        "command is answered and not done again, and garbage stops nobody.",
    )
    first, second = story.clients
    answers = [story.outcome(first.send("o-1", order(), expected_version=0))]
    ended = _race(story, "o-1", (DeleteOrder(), ModifyOrder(quantity=7)), 1)
    placed = _race(story, "o-2", (order(), order(quantity=9)), 0)
    modified = _race(story, "o-2", (ModifyOrder(quantity=7), ModifyOrder(quantity=8)), 1)
    repeated = [_send_named(story, second, order()) for _ in range(2)]
    reused = _send_named(story, second, order(quantity=11))
    letters = _garbage(story)
    story.voice.show(
        ("by", "sent", "verdict", "why"),
        [
            *_entries(("A",), ["PlaceOrder"], answers),
            *_entries(NAMES, ["DeleteOrder", "ModifyOrder"], ended),
            *_entries(NAMES, ["PlaceOrder", "PlaceOrder"], placed),
            *_entries(NAMES, ["ModifyOrder", "ModifyOrder"], modified),
            *_entries("BBB", ["PlaceOrder", "same again", "id reused"], [*repeated, reused]),
            *_letters(letters),
        ],
    )
    for what, pair, version in (
        ("of DeleteOrder and ModifyOrder on version 1 exactly one wins", ended, 1),
        ("of two PlaceOrder on version 0 exactly one wins", placed, 0),
        ("of two ModifyOrder on version 1 exactly one wins", modified, 1),
    ):
        story.voice.expect(what, race_result(version), verdicts(pair))
    story.voice.expect(
        "the same command twice is decided once, and both are told the same",
        [(Status.ACCEPTED, False, 1), (Status.ACCEPTED, True, 1)],
        [(answer.status, answer.duplicate, answer.to_version) for answer in repeated],
    )
    story.voice.expect(
        "another command under a used id is refused", Reason.COMMAND_ID_REUSED, reused.reason
    )
    story.voice.expect(
        "garbage is kept in dead-letters, byte for byte",
        [GARBAGE],
        [letter.bytes for letter in letters],
    )


def order(quantity: int = 10) -> PlaceOrder:
    """Return what is asked for in this chapter."""
    return PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=quantity, limit_price_cents=19_000
    )


def race_result(version: int) -> list[tuple[str, int | None]]:
    """Return what the verdicts on two commands at the same version must be."""
    return [(Status.ACCEPTED, version), (Reason.VERSION_CONFLICT, version + 1)]


def verdicts(answers: Sequence[Response]) -> list[tuple[str, int | None]]:
    """Return verdict and the version that was found, the winner's first."""
    found = [
        (answer.reason or answer.status, answer.actual_version if answer.reason else
         answer.from_version)
        for answer in answers
    ]  # fmt: skip
    return sorted(found, key=lambda pair: pair[0] != Status.ACCEPTED)


def _race(
    story: Story, aggregate_id: str, commands: tuple[Command, Command], version: int
) -> list[Response]:
    """Send one command through each client, back to back, and return the verdicts."""
    pending = [
        client.send(aggregate_id, command, expected_version=version)
        for client, command in zip(story.clients, commands, strict=True)
    ]
    return [story.outcome(sent) for sent in pending]


def _send_named(story: Story, client: Client, command: Command) -> Response:
    return story.outcome(client.send("o-3", command, expected_version=0, command_id="c-17"))


def _garbage(story: Story) -> list[DeadLetter]:
    produce(story, story.topics.commands("order"), "o-4", GARBAGE)
    settle(story)
    everything = spans(story.log, story.topics.dead_letters, From(), follow=False)
    return [decode(DeadLetter, m.value() or b"") for m in story.log.read(everything)]


def _entries(
    producers: Sequence[str], sent: Sequence[str], answers: Sequence[Response]
) -> Iterator[Entry]:
    for producer, about, answer in zip(producers, sent, answers, strict=True):
        verdict = Text(answer.reason or answer.status, "red" if answer.reason else "green")
        yield Entry(producer, about, verdict, answer.message or _versions(answer))


def _versions(answer: Response) -> str:
    again = ", answered from memory" if answer.duplicate else ""
    return (
        f"{answer.aggregate_type} {answer.aggregate_id!r} "
        f"version {answer.from_version} to {answer.to_version}{again}"
    )


def _letters(letters: Sequence[DeadLetter]) -> Iterator[Entry]:
    for letter in letters:
        yield Entry("-", "garbage", Text("dead letter", "yellow"), letter.error)
