"""A task knows its own batch, whatever was planned since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from verdict.streaming.exactly_once.checkpoint import PLANNED, planned_ms
from verdict.write_side.processor.spark_plan import planned_at

# ruff: noqa: N802, N803  (names of PySpark)


class Asking(StatefulProcessor):
    """Puts out when its batch was planned."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint

    def init(self, handle: Any) -> None:
        """It keeps nothing."""

    def handleInputRows(  # type: ignore[override]  # transformWithStateInPandas passes frames
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Ask once for all rows."""
        yield pd.DataFrame({"at": [planned_at(self._checkpoint)]}, index=[len([*rows])])


@pytest.mark.long
def test_one_that_wakes_up_behind_later_batches_asks_for_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    arriving, checkpoint = tmp_path / "arriving", tmp_path / "checkpoint"
    arriving.mkdir()
    for number in range(2):
        (arriving / f"{number}.txt").write_text("a line\n")
    told: dict[int, list[int]] = {}

    def take(frame: DataFrame, batch_id: int) -> None:
        planned = checkpoint / "offsets" / str(batch_id)
        later = planned.with_name("7")
        at = planned_ms(checkpoint, batch_id)
        later.write_text(planned.read_text().replace(f'"{PLANNED}":{at}', f'"{PLANNED}":7'))
        told[batch_id] = [row.at for row in frame.collect()]
        later.unlink()

    (
        spark.readStream.option("maxFilesPerTrigger", 1)
        .text(str(arriving))
        .groupBy("value")
        .transformWithStateInPandas(Asking(checkpoint), "at LONG", "append", "none")
        .writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(take)
        .start()
        .awaitTermination()
    )

    assert told == {number: [planned_ms(checkpoint, number)] for number in range(2)}


def test_code_outside_of_a_stream_s_task_gets_an_error(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no task of a streaming query"):
        planned_at(tmp_path)
