"""Copies of responses for those who ask for them, next to the record that stays."""

from collections.abc import Iterator

import pytest

from tests.application import APPLICATION, encode_command
from tests.decide.desk import PLACE
from verdict.model.command_envelope import CommandEnvelope
from verdict.testing import InMemory, LogRecord
from verdict.wire.headers import REPLY_TO, REPLY_TO_BYTES
from verdict.wire.partitions import partition_of

ENVELOPE = CommandEnvelope(command_id="c", aggregate_id="o", expected_version=0, payload={})
ANSWERS = "order.responses", "verdict.replies"
COMMAND = encode_command("order", ENVELOPE, PLACE)


@pytest.fixture
def app() -> Iterator[InMemory]:
    with InMemory(APPLICATION) as running:
        yield running


def answers(app: InMemory, value: bytes, *names: bytes | None) -> list[LogRecord]:
    """Send a command with these names for its reply; return the response and its copies."""
    before = {topic: len(app.events(topic)) for topic in ANSWERS}
    app.put("order.commands", value, b"o", [(REPLY_TO, name) for name in names])
    return [one for topic in ANSWERS for one in app.events(topic)[before[topic] :]]


@pytest.mark.proves("C-12")
def test_a_sender_with_a_reply_name_finds_the_same_bytes_under_it(app: InMemory) -> None:
    """Accepted, again, rejected: whatever the answer is; of two names the last counts."""
    rejected = COMMAND.replace(b"\x02c", b"\x02d", 1)
    for value, names in ((COMMAND, (b"first", b"us")), (COMMAND, (b"us",)), (rejected, (b"us",))):
        response, reply = answers(app, value, *names)

        assert reply.value == response.value
        assert (reply.key, reply.headers) == (b"us", ())
        assert reply.partition == partition_of(b"us", app.topics.partitions)


@pytest.mark.parametrize(
    ("value", "name"),
    [(COMMAND, None), (COMMAND, b""), (COMMAND, b"x" * (REPLY_TO_BYTES + 1)), (b"garbage", b"us")],
)
def test_without_a_usable_name_or_an_answer_there_is_no_copy(
    app: InMemory, value: bytes, name: bytes | None
) -> None:
    assert [one.topic for one in answers(app, value, name)] == (
        ["order.responses"] if value == COMMAND else []
    )
