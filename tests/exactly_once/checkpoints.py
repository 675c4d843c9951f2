"""Checkpoints as Spark 4.2 wrote them for a stateful query on one Kafka source."""

import json
from pathlib import Path

from verdict.adapters.kafka.offsets import Offsets

QUERY_ID = "1c7c29ea-abd2-4ad1-9130-f267f8d8b332"
CONF = (
    '{"batchWatermarkMs":0,"batchTimestampMs":1795264355517,"conf":{'
    '"spark.sql.streaming.stateStore.providerClass":'
    '"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",'
    '"spark.sql.streaming.stateStore.rocksdb.formatVersion":"5",'
    '"spark.sql.streaming.multipleWatermarkPolicy":"min",'
    '"spark.sql.shuffle.partitions":"%d",'
    '"spark.sql.streaming.stateStore.compression.codec":"lz4"}}'
)
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def begin(checkpoint: Path, initial: Offsets) -> None:
    """Write what a query leaves before its first batch."""
    for folder in ("offsets", "commits", "sources/0"):
        (checkpoint / folder).mkdir(parents=True)
    (checkpoint / "metadata").write_text(json.dumps({"id": QUERY_ID}))
    (checkpoint / "sources/0/0").write_text("\0v1\n" + as_spark(initial))
    (checkpoint / "sources/0/.0.crc").write_bytes(b"crc")


def plan(checkpoint: Path, batch_id: int, end: Offsets, shards: int = 3) -> None:
    """Write what Spark writes before a batch."""
    text = "\n".join(("v1", CONF % shards, as_spark(end)))
    (checkpoint / "offsets" / str(batch_id)).write_text(text)
    (checkpoint / "offsets" / f".{batch_id}.crc").write_bytes(b"crc")


def commit(checkpoint: Path, batch_id: int) -> None:
    """Write what Spark writes after a batch."""
    (checkpoint / "commits" / str(batch_id)).write_text(COMMIT)


def as_spark(offsets: Offsets) -> str:
    """Return offsets as Spark writes them; it does not sort partitions."""
    return json.dumps(
        {
            topic: {str(number): offset for number, offset in reversed([*enumerate(by_partition)])}
            for topic, by_partition in offsets.items()
        },
        separators=(",", ":"),
    )
