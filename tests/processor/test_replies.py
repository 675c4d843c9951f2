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
COMMAND = encode_command("order", ENVELOPE, PLACE)


@pytest.fixture
def app() -> Iterator[InMemory]:
    with InMemory(APPLICATION) as running:
        yield running


def sent(app: InMemory, value: bytes, *names: bytes | None) -> None:
    app.put("order.commands", value, b"o", [(REPLY_TO, name) for name in names])


def answers(app: InMemory) -> tuple[list[LogRecord], list[LogRecord]]:
    return app.events("order.responses"), app.events("verdict.replies")


@pytest.mark.proves("C-12")
def test_a_sender_with_a_reply_name_finds_the_same_bytes_under_it(app: InMemory) -> None:
    """Accepted, again, rejected: whatever the answer is; of two names the last counts."""
    sent(app, COMMAND, b"first", b"us")
    sent(app, COMMAND, b"us")
    sent(app, COMMAND.replace(b"\x02c", b"\x02d", 1), b"us")

    responses, replies = answers(app)
    assert [one.value for one in replies] == [one.value for one in responses]
    assert {(one.key, one.partition, one.headers) for one in replies} == {
        (b"us", partition_of(b"us", app.topics.partitions), ())
    }
    assert len(replies) == 3


@pytest.mark.parametrize("name", [None, b"", *(b"x" * (REPLY_TO_BYTES + n) for n in (0, 1))])
def test_a_name_has_a_length_between_1_and_a_limit(app: InMemory, name: bytes | None) -> None:
    sent(app, COMMAND, name)

    responses, replies = answers(app)
    assert len(responses) == 1
    assert [one.key for one in replies] == ([name] if name and len(name) <= REPLY_TO_BYTES else [])


def test_what_cannot_be_answered_has_no_copy(app: InMemory) -> None:
    sent(app, b"garbage", b"us")

    assert answers(app) == ([], [])
    assert len(app.events("dead-letters")) == 1
