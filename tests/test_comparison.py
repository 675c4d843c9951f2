"""An oracle that cannot fail proves nothing: every kind of damage to the topics is reported."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.application import decode_event, encode_event
from tests.comparison import Published, assert_as_the_model_says, differences
from tests.decide.desk import Desk, placed
from tests.model import Expected, Model, Record, fold
from tests.traffic import Traffic
from verdict.wire.records import decode, encode
from verdict.wire.response import Rejection, Response

Topics = list[Published]


def run(commands: int = 120) -> tuple[Expected, Topics]:
    """Return what random traffic must lead to, and what it did lead to."""
    traffic, model, desk = Traffic(Random(7), aggregates=2), Model(), Desk()
    log: list[Record] = []
    for _ in range(commands):
        log.append(traffic.next(model))
        model.take(log[-1])
        desk.take(log[-1])
    return fold(log), placed(desk.outputs)


EXPECTED, TOPICS = run()


def of_kind(kind: str, topics: Topics) -> list[int]:
    """Return where the records of one kind of topic are."""
    return [at for at, record in enumerate(topics) if record.topic.endswith(kind)]


def third(kind: str, change: Callable[[Published], list[Published]]) -> Callable[[Topics], Topics]:
    """Return a damage that puts others in the place of the third record of a kind."""

    def damage(topics: Topics) -> Topics:
        at = of_kind(kind, topics)[2]
        return [*topics[:at], *change(topics[at]), *topics[at + 1 :]]

    return damage


def dropping(kind: str) -> Callable[[Topics], Topics]:
    return third(kind, lambda record: [])


def doubling(kind: str) -> Callable[[Topics], Topics]:
    return third(kind, lambda record: [record, record._replace(offset=10_000)])


def changing(kind: str, change: Callable[[Published], Published]) -> Callable[[Topics], Topics]:
    return third(kind, lambda record: [change(record)])


def answer_with(kind: type[Any], **fields: Any) -> Callable[[Published], Published]:
    """Return a change of fields of a response or a rejection."""
    return lambda record: record._replace(
        value=encode(decode(kind, record.value).model_copy(update=fields))
    )


response_with, rejection_with = partial(answer_with, Response), partial(answer_with, Rejection)


def event_with(**fields: Any) -> Callable[[Published], Published]:
    def change(record: Published) -> Published:
        aggregate_type = record.topic.partition(".")[0]
        event = decode_event(aggregate_type, record.value)._replace(**fields)
        return record._replace(value=encode_event(event))

    return change


def swapped(topics: Topics) -> Topics:
    """Return two events of one aggregate the wrong way round."""
    one, other = [at for at in of_kind("order.events", topics) if topics[at].key == b"0-\xc3\xa9"][
        :2
    ]
    offsets = {one: topics[other].offset, other: topics[one].offset}
    return [
        record._replace(offset=offsets.get(at, record.offset)) for at, record in enumerate(topics)
    ]


def test_the_topics_of_a_healthy_run_are_what_the_model_says() -> None:
    assert_as_the_model_says(EXPECTED, TOPICS)


@pytest.mark.proves("C-16")
@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (dropping("events"), "versions ["),
        (dropping("events"), "does not carry the hash of the event before it"),
        (dropping("responses"), "has 0 response records, not 1"),
        (dropping("responses"), "responses and"),
        (dropping("rejected"), "has 0 rejection records, not 1"),
        (dropping("rejected"), "responses that are no duplicates"),
        (dropping("dead-letters"), "has 0 dead letter records, not 1"),
        (doubling("events"), "versions ["),
        (doubling("responses"), "has 2 response records, not 1"),
        (doubling("rejected"), "has 2 rejection records, not 1"),
        (doubling("dead-letters"), "has 2 dead letter records, not 1"),
        (swapped, "versions [2, 1"),
        (changing("events", event_with(actor="mallory")), "actor is 'mallory', not"),
        (changing("events", event_with(actor="mallory")), "does not carry the hash of the event"),
        (changing("events", event_with(version=77)), "versions ["),
        (changing("events", event_with(decided_at=5)), "decided_at is 5, not"),
        (changing("events", event_with(aggregate_id="stray")), "'order stray'"),
        (changing("events", lambda record: record._replace(key=b"x")), "has the key b'x'"),
        (changing("events", lambda record: record._replace(partition=1)), "several partitions"),
        (changing("responses", response_with(to_version=99)), "to_version is 99, not"),
        (changing("responses", response_with(duplicate=True)), "duplicate is True, not False"),
        (changing("responses", response_with(reason="EXPIRED")), "reason is <Reason.EXPIRED"),
        (changing("responses", response_with(last_hash=None)), "last_hash is None, not b"),
        (changing("rejected", rejection_with(last_hash=b"x")), "last_hash is b'x', not "),
        (changing("responses", lambda record: record._replace(key=None)), "key is None, not"),
        (changing("rejected", rejection_with(command_bytes=b"")), "bytes is b'', not"),
        (changing("rejected", rejection_with(message=None)), "has the message None"),
    ],
)
def test_damage_is_reported(damage: Callable[[Topics], Topics], reported: str) -> None:
    found = list(differences(EXPECTED, damage(TOPICS)))

    assert [fault for fault in found if reported in fault], found


def test_only_the_first_differences_are_shown() -> None:
    with pytest.raises(AssertionError, match="has 0 response records") as failure:
        assert_as_the_model_says(EXPECTED, [])

    lines = str(failure.value).splitlines()
    assert "… and more than 10 in all" in lines[11]
