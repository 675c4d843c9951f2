"""C-17: what Kafka lost comes back once, and each reader gets what it has not read."""

from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random

import pytest

from verdict.read_side.tables.lost_events import EventPlace, Restoration, compare

Event = tuple[tuple[str, str, int], str]
"""Its identity, and the hash of its bytes."""


@dataclass
class Partition:
    """Kafka's side: what is at which offset, None for a record that no reader sees."""

    records: list[Event | None] = field(default_factory=list)

    def append(self, random: Random, *events: Event) -> None:
        self.records += events
        if random.random() < 0.5:
            self.records.append(None)  # the end of a transaction

    def places(self, start: int = 0) -> list[EventPlace]:
        return [
            EventPlace(*event, offset)
            for offset, event in enumerate(self.records)
            if event is not None and offset >= start
        ]

    def events(self, start: int = 0) -> list[Event]:
        return [(place.identity, place.hash) for place in self.places(start)]  # type: ignore[misc]


@dataclass
class Accident:
    """A partition before and after a loss, and who has read how far."""

    random: Random
    before: Partition
    archived: list[EventPlace]
    readers: list[int]
    kafka: Partition

    def restore(self, stop_after: int | None = None) -> Restoration:
        """Do what `verdict recover` does; all of it, or less."""
        reached = max(self.readers)
        if reached > len(self.kafka.records):
            self.kafka.records += [None] * (reached - len(self.kafka.records) + 1)
        missing = self.compared().missing[:stop_after]
        self.kafka.records.append(None)
        for one in missing:
            assert one.identity is not None
            self.kafka.append(self.random, (one.identity, one.hash))
        return self.compared()

    def compared(self) -> Restoration:
        records = self.kafka.records
        lost = [
            one.offset
            for one in self.archived
            if one.offset >= len(records) or records[one.offset] != (one.identity, one.hash)
        ]
        start = max((one.offset + 1 for one in self.archived if one.offset < min(lost)), default=0)
        archived = [one for one in self.archived if one.offset >= min(lost)]
        return compare(start, archived, self.kafka.places(start))


def accident(seed: int) -> Accident:
    random, partition = Random(seed), Partition()
    versions = dict.fromkeys("abc", 0)
    for number in range(random.randint(1, 30)):
        name = random.choice("abc")
        versions[name] += 1
        partition.append(random, (("order", name, versions[name]), f"hash-{number}"))
    end = len(partition.records)
    readers = [end, *(random.randint(0, end) for _ in range(3))]
    places = [-1, *(place.offset for place in partition.places())]
    last = random.randrange(len(places) - 1)  # before the loss, and perhaps the end of it
    left = Partition(partition.records[: random.randint(places[last] + 1, places[last + 1])])
    return Accident(random, partition, partition.places(), readers, left)


def holds(one: Accident, done: Restoration, others: Collection[Event] = ()) -> None:
    """Hold the outcome against what anybody can see: the former log, and the log now."""
    found = one.kafka.events()
    assert sorted(event for event in found if event not in others) == sorted(one.before.events())
    for reader in one.readers:
        unread, position = one.before.events(reader), done.position(reader)
        gets = one.kafka.events(position)
        if done.is_in_order:
            assert gets == unread
        assert {*unread, *others} <= {*gets}
        assert done.position(position) == position
    assert one.compared().missing == []


SEEDS = pytest.mark.parametrize("seed", range(100))


@SEEDS
def test_each_lost_event_comes_back_once_and_each_reader_gets_what_it_has_not_read(
    seed: int,
) -> None:
    one = accident(seed)

    holds(one, one.restore())


@SEEDS
def test_a_repetition_finishes_what_an_interrupted_run_began(seed: int) -> None:
    one = accident(seed)
    one.restore(stop_after=one.random.randint(0, 5))

    done = one.restore()

    assert done.is_in_order
    holds(one, done)


@SEEDS
def test_events_that_others_appended_after_the_loss_are_read_by_everybody(seed: int) -> None:
    one = accident(seed)
    others = {
        (("order", "stranger", number), f"theirs-{number}")
        for number in range(1, one.random.randint(2, 40))
    }
    one.kafka.append(one.random, *sorted(others))

    holds(one, one.restore(), others)


@SEEDS
def test_events_that_are_there_with_the_same_bytes_are_not_appended_again(seed: int) -> None:
    one = accident(seed)
    *there, last = one.compared().missing
    for event in there:
        assert event.identity is not None
        one.kafka.append(one.random, (event.identity, event.hash))

    assert one.compared().missing == [last]
    holds(one, one.restore())


@SEEDS
def test_other_bytes_under_a_lost_version_are_a_conflict_of_both(seed: int) -> None:
    one = accident(seed)
    lost = one.random.choice(one.compared().missing)
    assert lost.identity is not None
    one.kafka.append(one.random, (lost.identity, "other bytes"))

    [(archived, other)] = one.compared().conflicts

    assert archived == lost
    assert other == EventPlace(lost.identity, "other bytes", other.offset)
    assert one.kafka.records[other.offset] == (lost.identity, "other bytes")
    strange = compare(0, [lost], [EventPlace(None, "what", lost.offset)])
    assert (strange.strangers, strange.missing, strange.conflicts) == (1, [lost], [])
