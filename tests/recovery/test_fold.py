"""What recovery makes of events and responses is what the operator's state holds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from random import Random

import pytest

from aggregates.handle import Limits
from aggregates.operator.batch import ShardBatch
from aggregates.operator.output import Output
from aggregates.operator.shard_state import NEVER, Entry
from compose.recovery.histories import Folded, Stored, snapshots
from compose.recovery.outcomes import outcomes
from schemas.response import Response
from schemas.topics import Topics
from schemas.wire.records import decode, decode_event, encode_event
from tests.aggregates.desk import command_record
from tests.model import Model, Record
from tests.operator.dict_state import DictState
from tests.traffic import Traffic

TOPICS = Topics()


def traffic(seed: int, length: int) -> list[Record]:
    """Return a commands log of every kind of traffic."""
    model, log = Model(), list[Record]()
    source = Traffic(Random(seed), aggregates=4)
    for _ in range(length):
        log.append(source.next(model))
        model.take(log[-1])
    return log


def decided(log: Iterable[Record], limits: Limits) -> tuple[DictState, list[Output]]:
    """Return the state of the only shard, and all outputs, of batches of 20 commands."""
    state, outputs, rest = DictState(), list[Output](), list(log)
    while rest:
        batch = ShardBatch(TOPICS, limits, state)
        outputs += batch.decide(map(command_record, rest[:20]))
        batch.commit()
        rest = rest[20:]
    return state, outputs


def stored(outputs: Iterable[Output], kind: str) -> list[Stored]:
    """Return what Kafka would hold on the topics of one kind, by aggregate, in order."""
    found = [
        Stored(TOPICS.aggregate_of(out.topic), out.topic, 0, offset, out.key or b"", out.value)
        for offset, out in enumerate(outputs)
        if out.topic.endswith(kind)
    ]
    return sorted(found, key=attrgetter("aggregate_type", "key", "offset"))


def entries(folded: Iterable[Folded]) -> dict[bytes, Entry]:
    """Return what was recovered; nothing may be at fault."""
    found: dict[bytes, Entry] = {}
    for one in sorted(folded, key=lambda one: one.of.offset):
        assert one.fault is None
        assert one.key is not None
        found[one.key] = one.entry
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("hours", [1, 24])
def test_the_recovered_entries_are_those_of_the_operator(seed: int, hours: int) -> None:
    limits = Limits(memory_ms=hours * 60 * 60 * 1000)
    state, outputs = decided(traffic(seed, 300), limits)
    responses = stored(outputs, ".responses")
    now = max(decode(Response, one.value).decided_at for one in responses)

    found = entries(snapshots(stored(outputs, ".events")))
    found |= entries(outcomes(responses, limits, now))

    alive = {
        key: entry
        for key, entry in state.entries.items()
        if entry.expires_at == NEVER or entry.expires_at >= now
    }
    assert found == alive
    assert len(alive) < len(state.entries)


@pytest.fixture(scope="module")
def events() -> list[Stored]:
    """All events of some traffic, by aggregate."""
    _, outputs = decided(traffic(7, 200), Limits())
    return stored(outputs, ".events")


def faults(folded: Iterable[Folded]) -> list[str]:
    return [one.fault for one in folded if one.fault is not None]


def followed(events: list[Stored]) -> Iterator[int]:
    """Yield where an event is followed by another one of its aggregate."""
    for at, (one, other) in enumerate(pairwise(events)):
        if (one.aggregate_type, one.key) == (other.aggregate_type, other.key):
            yield at


def test_a_missing_event_is_named_by_the_one_behind_it(events: list[Stored]) -> None:
    at = next(followed(events))
    behind = events[at + 1]

    found = faults(snapshots([*events[:at], *events[at + 1 :]]))

    assert len(found) == 1
    assert found[0].startswith(f"{behind.topic}-0 offset {behind.offset}, aggregate {behind.key!r}")
    assert "follows version" in found[0]


def test_an_altered_event_breaks_the_chain_of_hashes(events: list[Stored]) -> None:
    """C-16: whoever alters an event and writes it soundly is found by the next one."""
    at = next(followed(events))
    event = decode_event(events[at].aggregate_type, events[at].value)
    altered = encode_event(replace(event, correlation_id="somebody else's"))

    found = faults(snapshots([*events[:at], events[at]._replace(value=altered), *events[at + 1 :]]))

    assert len(found) == 1
    assert "one was altered" in found[0]


def test_an_event_under_the_key_of_another_aggregate_is_named(events: list[Stored]) -> None:
    found = faults(snapshots([events[0]._replace(key=b"another")]))

    assert len(found) == 1
    assert "holds an event of" in found[0]


def test_what_cannot_be_decoded_is_named_and_the_others_are_folded(events: list[Stored]) -> None:
    garbage = events[0]._replace(key=b"", value=b"garbage")

    found = list(snapshots([garbage, *events]))

    assert len(faults(found)) == 1
    assert len(found) == 1 + len({(one.aggregate_type, one.key) for one in events})
    assert len(faults(outcomes([garbage], Limits(), 0))) == 1
