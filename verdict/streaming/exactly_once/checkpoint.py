"""What Spark's checkpoint says: which batch was planned, from where to where, and if it is done.

Spark (`OffsetSeqLog`, `CommitLog`, `KafkaSourceInitialOffsetWriter`) writes

- `metadata`: `{"id": …}`, the query's id;
- `sources/0/0`: a zero byte, `v1`, and where the Kafka source began;
- `offsets/N`, before batch N runs: `v1`, a line of JSON with the settings that are frozen with
  the checkpoint, and for each source a line with the end of the batch;
- `commits/N`, after batch N: `v1`, and a line of JSON.

Positions are JSON, `{"topic": {"0": 5}}`: the next offset by partition. A file that is missing, cut
off or of an unknown kind raises `DamagedCheckpointError` with its name. `OSError` means that the
system refuses to read it, which says nothing of what it holds.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdict.adapters.kafka.offsets import Offsets, TopicOffsets, offsets_text
from verdict.adapters.spark.errors import DamagedCheckpointError
from verdict.adapters.storage.folders import write_whole
from verdict.errors import ABSENT
from verdict.streaming.exactly_once.batch import SourceBatch

VERSION = "v1"
SHARDS = "spark.sql.shuffle.partitions"
PLANNED = "batchTimestampMs"
METADATA = "metadata"
INITIAL = "sources/0/0"
OFFSETS = "offsets"
COMMITS = "commits"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPosition:
    """How far Spark's own books go.

    `last` is the batch that was planned last, `committed` whether Spark is done with it.
    `initial` is where the source began. What is not written yet is None.
    """

    query_id: str | None = None
    initial: Offsets | None = None
    shards: int | None = None
    last: SourceBatch | None = None
    committed: bool = False

    def __str__(self) -> str:
        if self.last is not None:
            return f"{self.last}, {'committed' if self.committed else 'not committed'}"
        if self.initial is not None:
            start = offsets_text(self.initial)
            return f"Spark query {self.query_id} without a batch, from ({start})"
        return "fresh, without a batch"


FRESH = CheckpointPosition()


def remove_torn_files(checkpoint: Path) -> None:
    """Remove files that Spark was writing when it was killed; a file counts once it is renamed.

    Spark reads whole files only, but refuses to begin in a checkpoint that holds a torn one.
    """
    for folder in (OFFSETS, COMMITS):
        for torn in (checkpoint / folder).glob(".*.tmp"):
            torn.unlink()


def plan_empty_batch(checkpoint: Path, position: CheckpointPosition) -> None:
    """Let Spark begin with a batch without input, as it does in a fresh checkpoint.

    It repeats what is planned and not committed. So the first command after a start finds the
    plan, the state and the Python workers there.
    """
    if position.last is not None and position.committed:
        last = position.last.batch_id
        plan = _text(checkpoint / OFFSETS / str(last))
        write_whole(checkpoint / OFFSETS / str(last + 1), plan)


def checkpoint_position(checkpoint: Path) -> CheckpointPosition:
    """Return how far the checkpoint in this directory goes; one that does not exist is fresh."""
    last = max(_batches(checkpoint / OFFSETS), default=-1)
    done = max(_batches(checkpoint / COMMITS), default=-1)
    if done not in (last, last - 1):
        raise _damaged(
            checkpoint / COMMITS, f"ends at batch {done}, but the batch planned last is {last}"
        )
    if last < 0:
        return CheckpointPosition(
            query_id=_query_id(checkpoint) if exists(checkpoint / METADATA) else None,
            initial=_initial(checkpoint) if exists(checkpoint / INITIAL) else None,
        )
    if done >= 0:
        _lines(checkpoint / COMMITS / str(done), 2)
    return CheckpointPosition(
        query_id=_query_id(checkpoint),
        initial=_initial(checkpoint),
        shards=_in_plan(checkpoint, last, "conf", SHARDS),
        last=batch_of(checkpoint, last),
        committed=done == last,
    )


def batch_of(checkpoint: Path, batch_id: int) -> SourceBatch:
    """Return the batch that the checkpoint planned; Spark plans a batch before it runs it."""
    return SourceBatch(
        query_id=_query_id(checkpoint),
        batch_id=batch_id,
        start=_end(checkpoint, batch_id - 1) if batch_id else _initial(checkpoint),
        end=_end(checkpoint, batch_id),
    )


def planned_ms(checkpoint: Path, batch_id: int) -> int:
    """Return when a batch was planned, by the clock of its driver, in epoch milliseconds."""
    return _in_plan(checkpoint, batch_id, PLANNED)


def starting_offsets(offsets: TopicOffsets, partitions: Mapping[str, int]) -> str:
    """Return `offsets` as Spark's Kafka source wants its option of that name."""
    every = {}
    for topic, count in partitions.items():
        known = [*offsets.get(topic, ()), *[0] * count][:count]
        every[topic] = {str(number): offset for number, offset in enumerate(known)}
    return json.dumps(every)


def exists(file: Path) -> bool:
    """Return whether there is a file; `Path.exists` says no when the system refuses to look."""
    try:
        file.stat()
    except ABSENT:
        return False
    return True


def _batches(log: Path) -> set[int]:
    """Return the batches in a log; Spark's temporary and checksum files begin with a dot."""
    try:
        return {int(file.name) for file in log.iterdir() if file.name.isdecimal()}
    except ABSENT:
        return set()


def _query_id(checkpoint: Path) -> str:
    file = checkpoint / METADATA
    found = _json(file, _text(file))
    if isinstance(found, dict) and isinstance(query_id := found.get("id"), str):
        return query_id
    raise _damaged(file, "does not hold the id of a query")


def _initial(checkpoint: Path) -> Offsets:
    return _offsets(checkpoint / INITIAL, lines=2)


def _end(checkpoint: Path, batch_id: int) -> Offsets:
    return _offsets(checkpoint / OFFSETS / str(batch_id), lines=3)


def _in_plan(checkpoint: Path, batch_id: int, *way: str) -> int:
    """Return the number that the plan of a batch holds at the end of a way of names."""
    file = checkpoint / OFFSETS / str(batch_id)
    found = _json(file, _lines(file, 3)[1])
    try:
        for name in way:
            found = found[name]
        return int(found)
    except (KeyError, TypeError, ValueError):
        raise _damaged(file, f"does not hold {way[-1]}") from None


def _offsets(file: Path, lines: int) -> Offsets:
    """Return the offsets in the last of so many lines, in the order of their partitions."""
    line = _lines(file, lines)[-1]
    found = _json(file, line)
    with suppress(AttributeError, KeyError, TypeError):  # it is of another shape
        offsets = {
            topic: [by_partition[str(number)] for number in range(len(by_partition))]
            for topic, by_partition in found.items()
        }
        if all(of and all(type(one) is int and one >= 0 for one in of) for of in offsets.values()):
            return offsets
    raise _damaged(
        file, f"holds no Kafka offsets, of each partition from 0 without a gap, but {line:.80}"
    )


def _lines(file: Path, count: int) -> list[str]:
    """Return the lines of a log file that has `count` of them and a version we know."""
    lines = _text(file).removeprefix("\0").splitlines()
    if not lines or lines[0] != VERSION:
        raise _damaged(file, f"begins with {lines[:1]}, not with [{VERSION!r}]")
    if len(lines) != count:
        raise _damaged(file, f"has {len(lines)} lines, not {count} (of one Kafka source)")
    _json(file, lines[-1])
    return lines


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (*ABSENT, UnicodeDecodeError) as error:
        raise _damaged(file, f"cannot be read ({error})") from error


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(file, f"holds damaged JSON ({error})") from error


def _damaged(file: Path, what: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"Spark's checkpoint is damaged: {file} {what}; restore the data directory as it was, "
        "or rebuild the checkpoint from Kafka with `verdict recover`"
    )
