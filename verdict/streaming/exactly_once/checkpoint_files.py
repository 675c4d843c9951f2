"""The files of a Spark checkpoint, read as strictly as they are written.

Spark (`OffsetSeqLog`, `CommitLog`, `KafkaSourceInitialOffsetWriter`) writes

- `metadata`: `{"id": …}`, the query's id;
- `sources/0/0`: a zero byte, `v1`, and where the Kafka source began;
- `offsets/N`, before batch N runs: `v1`, a line of JSON with the settings that are frozen with
  the checkpoint, and for each source a line with the end of the batch;
- `commits/N`, after batch N: `v1`, and a line of JSON.

Positions are JSON, `{"topic": {"0": 5}}`: the next offset by partition. Every function raises
`DamagedCheckpointError`, naming the file, when one is missing, cut off or of an unknown kind, and
`OSError` when the system refuses to read it, which says nothing of what it holds.
"""

import json
from pathlib import Path
from typing import Any

from verdict.adapters.kafka.offsets import Offsets
from verdict.adapters.spark.checkpoint_errors import DamagedCheckpointError
from verdict.errors import ABSENT

VERSION = "v1"
SHARDS = "spark.sql.shuffle.partitions"
PLANNED = "batchTimestampMs"
METADATA = "metadata"
INITIAL = "sources/0/0"
OFFSETS = "offsets"
COMMITS = "commits"


def batches(log: Path) -> set[int]:
    """Return the batches in a log; Spark's temporary and checksum files begin with a dot."""
    try:
        return {int(file.name) for file in log.iterdir() if file.name.isdecimal()}
    except ABSENT:
        return set()


def exists(file: Path) -> bool:
    """Return whether there is a file; `Path.exists` says no when the system refuses to look."""
    try:
        file.stat()
    except ABSENT:
        return False
    return True


def query_id(checkpoint: Path) -> str:
    """Return the id that the query keeps over restarts."""
    file = checkpoint / METADATA
    found = _json(file, _text(file))
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        raise damaged_file(file, "does not hold the id of a query")
    return str(found["id"])


def initial_offsets(checkpoint: Path) -> Offsets:
    """Return where batch 0 starts."""
    file = checkpoint / INITIAL
    return _offsets(file, _lines(file, 2)[1])


def end_offsets(checkpoint: Path, batch_id: int) -> Offsets:
    """Return where a planned batch ends."""
    file = checkpoint / OFFSETS / str(batch_id)
    return _offsets(file, _lines(file, 3)[2])


def shards_of(checkpoint: Path, batch_id: int) -> int:
    """Return the number of state partitions that a planned batch runs with."""
    return _in_plan(checkpoint, batch_id, "conf", SHARDS)


def planned_ms(checkpoint: Path, batch_id: int) -> int:
    """Return when a batch was planned, by the clock of its driver, in epoch milliseconds."""
    return _in_plan(checkpoint, batch_id, PLANNED)


def check_commit(checkpoint: Path, batch_id: int) -> None:
    """Return when the commit of a batch is written to its end."""
    _lines(checkpoint / COMMITS / str(batch_id), 2)


def damaged_file(file: Path, what: str) -> DamagedCheckpointError:
    """Return the error for a file that `what` is wrong with."""
    return DamagedCheckpointError(
        f"Spark's checkpoint is damaged: {file} {what}; restore the data directory as it was, "
        "or rebuild the checkpoint from Kafka with `verdict recover`"
    )


def _in_plan(checkpoint: Path, batch_id: int, *way: str) -> int:
    """Return the number that the plan of a batch holds at the end of a way of names."""
    file = checkpoint / OFFSETS / str(batch_id)
    found = _json(file, _lines(file, 3)[1])
    try:
        for name in way:
            found = found[name]
        return int(found)
    except (KeyError, TypeError, ValueError):
        raise damaged_file(file, f"does not hold {way[-1]}") from None


def _offsets(file: Path, line: str) -> Offsets:
    found = _json(file, line)
    if not isinstance(found, dict):
        raise damaged_file(file, f"holds no Kafka offsets but {line[:80]!r}")
    return {topic: _by_partition(file, topic, offsets) for topic, offsets in found.items()}


def _by_partition(file: Path, topic: str, offsets: Any) -> list[int]:
    """Return offsets in the order of their partitions; a gap in the numbers would shift them."""
    wanted = [str(number) for number in range(len(offsets))] if isinstance(offsets, dict) else []
    if not wanted or set(offsets) != set(wanted):
        raise damaged_file(file, f"does not hold the partitions of {topic} from 0 without a gap")
    found = [offsets[number] for number in wanted]
    if not all(type(offset) is int and offset >= 0 for offset in found):
        raise damaged_file(file, f"holds for {topic} what are no offsets: {found}")
    return found


def _lines(file: Path, count: int) -> list[str]:
    """Return the lines of a log file that has `count` of them and a version we know."""
    lines = _text(file).removeprefix("\0").splitlines()
    if not lines or lines[0] != VERSION:
        raise damaged_file(file, f"begins with {lines[:1]}, not with [{VERSION!r}]")
    if len(lines) != count:
        raise damaged_file(file, f"has {len(lines)} lines, not {count} (of one Kafka source)")
    _json(file, lines[-1])
    return lines


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (*ABSENT, UnicodeDecodeError) as error:
        raise damaged_file(file, f"cannot be read ({error})") from error


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged_file(file, f"holds damaged JSON ({error})") from error
