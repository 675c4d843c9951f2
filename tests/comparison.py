"""Compares the output topics with what the model says must be there."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import asdict
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from tests.application import decode_event
from tests.hostile import WHOLE, Sent
from tests.model import Event, Expected, Identity, Outcome, Place
from tests.model.reading import KEY_LIMIT_BYTES, MAX_COMMAND_BYTES
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Rejection, Response
from verdict.wire.topics import KEY_BYTES, Topics

SHOWN = 10


class Published(NamedTuple):
    """One record of an output topic, as a read_committed consumer sees it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes


def assert_as_the_model_says(
    expected: Expected, published: Iterable[Published], *, topic_prefix: str = ""
) -> None:
    """Fail, naming the first few differences, unless the outputs are exactly the model's.

    One outcome for every command; versions 1..n in order without a gap, none twice; the hash
    chain, computed again over the value bytes; rejections once each; duplicates only answered;
    the counting identities of every quiet point.

    Args:
        expected: `fold` of the whole commands log.
        published: Everything on the events, responses, rejected and dead-letter topics of these
            aggregates; other topics are ignored.
        topic_prefix: Of the deployment.
    """
    found = list(islice(differences(expected, published, topic_prefix), SHOWN + 1))
    more = [f"… and more than {SHOWN} in all"] if len(found) > SHOWN else []
    shown = "\n- ".join([*found[:SHOWN], *more])
    assert not found, f"the topics are not what the model says:\n- {shown}"


def differences(
    expected: Expected, published: Iterable[Published], topic_prefix: str = ""
) -> Iterator[str]:
    """Yield every difference as a sentence."""
    topics: dict[str, list[Published]] = defaultdict(list)
    for record in sorted(published, key=lambda record: record[:3]):
        topics[record.topic.removeprefix(topic_prefix).rpartition(".")[2]].append(record)
    responses = [(record, decode(Response, record.value)) for record in topics["responses"]]
    rejections = [(record, decode(Rejection, record.value)) for record in topics["rejected"]]
    letters = [(record, decode(DeadLetter, record.value)) for record in topics["dead-letters"]]
    yield from _counting(expected, responses, rejections, letters)
    outcomes = expected.outcomes
    hashes = _hashes(topics["events"], topic_prefix)
    yield from _hash_faults("response", responses, outcomes, hashes)
    yield from _hash_faults("rejection", rejections, outcomes, hashes)
    answered = {place for place, one in outcomes.items() if one.response is not None}
    rejected = {place for place, one in outcomes.items() if one.rejected}
    lost = outcomes.keys() - answered
    yield from _one_each("response", responses, outcomes, answered, _response_faults)
    yield from _one_each("rejection", rejections, outcomes, rejected, _rejection_faults)
    yield from _one_each("dead letter", letters, outcomes, lost, _letter_faults)
    yield from _histories(expected, topics["events"], topic_prefix)


Records = list[tuple[Published, Any]]
Hashes = dict[tuple[str, str, int], bytes]


def _hashes(events: list[Published], topic_prefix: str) -> Hashes:
    """Return the SHA-256 of each event's bytes by (type, id, version); version 0 has none."""
    found: Hashes = {}
    for published in events:
        aggregate_type = published.topic.removeprefix(topic_prefix).removesuffix(".events")
        event = decode_event(aggregate_type, published.value)
        identity = (aggregate_type, event.aggregate_id)
        found[*identity, 0] = b""
        found[*identity, event.version] = sha256(published.value).digest()
    return found


def _hash_faults(
    kind: str, records: Records, outcomes: dict[Place, Outcome], hashes: Hashes
) -> Iterator[str]:
    """Hold each answer's `last_hash` against the bytes of the event that the model says is last."""
    for _, record in records:
        outcome = outcomes.get(_place(record))
        if outcome is None or outcome.response is None:
            continue  # told by `_one_each`
        version = outcome.response["to_version"]
        identity = (record.aggregate_type, record.aggregate_id)
        wanted = None if version is None else hashes.get((*identity, version), b"")
        for fault in _unequal({"last_hash": wanted}, {"last_hash": record.last_hash}):
            yield f"{kind} to {_at(_place(record))}: {fault}"


def _counting(
    expected: Expected, responses: Records, rejections: Records, letters: Records
) -> Iterator[str]:
    """C-01: commands = responses + dead letters, first answers = accepted + rejected."""
    if len(expected.outcomes) != len(responses) + len(letters):
        yield (
            f"{len(expected.outcomes)} commands, but {len(responses)} responses and "
            f"{len(letters)} dead letters"
        )
    first = [response for _, response in responses if not response.duplicate]
    accepted = sum(response.status == "ACCEPTED" for response in first)
    if len(first) != accepted + len(rejections):
        yield (
            f"{len(first)} responses that are no duplicates, but {accepted} accepted and "
            f"{len(rejections)} rejected"
        )


def _one_each(
    kind: str,
    found: Records,
    outcomes: dict[Place, Outcome],
    wanted: Set[Place],
    faults: Callable[[Outcome, Published, Any], Iterator[str]],
) -> Iterator[str]:
    """Hold records that name the command they belong to against the outcomes of all commands."""
    seen = Counter(_place(record) for _, record in found)
    for place in outcomes:
        if seen[place] != (place in wanted):
            yield f"{_at(place)} has {seen[place]} {kind} records, not {int(place in wanted)}"
    for published, record in found:
        place = _place(record)
        if place not in outcomes:
            yield f"a {kind} at {_at(published[:3])} belongs to no command: {_at(place)}"
        elif place in wanted:
            for fault in faults(outcomes[place], published, record):
                yield f"{kind} to {_at(place)}: {fault}"


def _response_faults(outcome: Outcome, published: Published, found: Response) -> Iterator[str]:
    assert outcome.response is not None
    said = found.model_dump() | {"source": _place(found)}
    yield from _unequal(outcome.response, said)
    yield from _unequal({"key": found.aggregate_id.encode()}, {"key": published.key})
    if (found.message is None) != (found.reason is None):
        yield f"reason {found.reason} has the message {found.message!r}"


def _rejection_faults(outcome: Outcome, published: Published, found: Rejection) -> Iterator[str]:
    yield from _response_faults(outcome, published, found)
    yield from _unequal({"bytes": outcome.record.value}, {"bytes": found.command_bytes})


def _letter_faults(outcome: Outcome, published: Published, found: DeadLetter) -> Iterator[str]:
    value = outcome.record.value or b""
    kept = None if outcome.record.value is None else value[:MAX_COMMAND_BYTES]
    key = None if outcome.record.key is None else outcome.record.key[:KEY_LIMIT_BYTES]
    wanted = {"key": key, "bytes": kept, "length": len(value), "sha256": sha256(value).digest()}
    yield from _unequal(wanted | _whole_key(outcome.record.key or b""), asdict(found))
    yield from _unequal({"key": key}, {"key": published.key})


def _whole_key(key: bytes) -> dict[str, object]:
    """Return what is said of a key that is too long to be kept."""
    if len(key) <= KEY_LIMIT_BYTES:
        return {"key_length": None, "key_sha256": None}
    return {"key_length": len(key), "key_sha256": sha256(key).digest()}


def _histories(expected: Expected, events: list[Published], topic_prefix: str) -> Iterator[str]:
    """Hold every aggregate's events, in the order in which they are there, against its history."""
    found: dict[Identity, list[tuple[Published, RecordedEvent]]] = defaultdict(list)
    for published in events:
        aggregate_type = published.topic.removeprefix(topic_prefix).removesuffix(".events")
        event = decode_event(aggregate_type, published.value)
        found[event.aggregate_type, event.aggregate_id].append((published, event))
    for identity in found.keys() | expected.aggregates.keys():
        aggregate = expected.aggregates.get(identity)
        history = aggregate.history if aggregate else []
        for fault in _history_faults(history, found[identity]):
            yield f"{' '.join(identity)!r}: {fault}"


def _history_faults(
    history: list[Event], found: list[tuple[Published, RecordedEvent]]
) -> Iterator[str]:
    versions = [event.version for _, event in found]
    if versions != [event["version"] for event in history]:
        yield f"versions {_short(versions)}, not 1 to {len(history)}"
    if len({published.partition for published, _ in found}) > 1:
        yield "its events are on several partitions"
    previous_hash = b""
    for published, event in found:
        if event.previous_hash != previous_hash:
            yield f"version {event.version} does not carry the hash of the event before it"
        previous_hash = sha256(published.value).digest()
        if published.key != event.aggregate_id.encode():
            yield f"version {event.version} has the key {published.key!r}"
        if event.version <= len(history):
            for fault in _unequal(history[event.version - 1], _plain(event)):
                yield f"version {event.version}: {fault}"


def _plain(event: RecordedEvent) -> Event:
    flat = {name: getattr(event, name) for name in RecordedEvent._fields}
    fields = _without_nothing(event.payload.model_dump())
    return flat | {"source": _place(event), "type": type(event.payload).__name__, "fields": fields}


def _unequal(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for name, value in wanted.items():
        if found[name] != (_without_nothing(value) if name == "fields" else value):
            yield f"{name} is {_short(found[name])}, not {_short(value)}"


def _without_nothing(value: Any) -> Any:
    """Return fields without those that are nothing, at every depth: absent is the same."""
    if isinstance(value, list):
        return [_without_nothing(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_nothing(one) for name, one in value.items() if one is not None}
    return value


def _place(record: Any) -> Place:
    source = record.source
    return (source.topic, source.partition, source.offset)


def _at(place: Place) -> str:
    return "{}:{}:{}".format(*place)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def assert_contained(
    sent: Mapping[Source, Sent], published: Iterable[Published], topics: Topics
) -> None:
    """Hold that each record became one dead letter or one rejection, with its bytes and place."""
    letters: dict[Source, list[DeadLetter]] = {place: [] for place in sent}
    rejections: dict[Source, list[Rejection]] = {place: [] for place in sent}
    for one in published:
        if one.topic == topics.dead_letters:
            letter = decode(DeadLetter, one.value)
            letters.get(letter.source, []).append(letter)
        elif one.topic.endswith(".rejected"):
            rejection = decode(Rejection, one.value)
            rejections.get(rejection.source, []).append(rejection)
    for place, (key, value) in sent.items():
        assert len(letters[place]) + len(rejections[place]) == 1, place
        for rejection in rejections[place]:
            assert rejection.command_bytes == value, place
        for letter in letters[place]:
            assert (letter.key, letter.length) == (key and key[:KEY_BYTES], len(value or b"")), (
                place
            )
            if key is not None and len(key) > KEY_BYTES:
                whole = len(key), sha256(key).digest()
                assert (letter.key_length, letter.key_sha256) == whole, place
            else:
                assert (letter.key_length, letter.key_sha256) == (None, None), place
            assert letter.bytes == (value and value[:WHOLE]), place
            assert letter.sha256 == sha256(value or b"").digest(), place
