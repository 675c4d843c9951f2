"""How Spark runs the plan of a batch: a small one is interpreted, a large one gets code of its own.

Spark writes and looks up Java for each plan, each task and each partition of Kafka anew, batch by
batch. That takes a fifth of the processor time of a lonely command; a record of a large batch is
through it so much sooner that it is worth it there. Both give the same rows.
https://github.com/apache/spark/blob/v4.0.0/sql/catalyst/src/main/scala/org/apache/spark/sql/catalyst/expressions/CodeGeneratorWithInterpretedFallback.scala
"""

from pyspark.sql import SparkSession

MOST_ROWS = 1_000
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",  # as the next batch is planned
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # as the tasks of this one begin
}


class CodegenSwitch:
    """Lets one query interpret its small batches; the others are run as its session says."""

    def __init__(self) -> None:
        self._chosen: dict[str, str] = {}
        self._interprets = False

    def suit(self, session: SparkSession, rows: int) -> None:
        """Choose for the tasks of a batch and for the plan of the next one, which may be alike."""
        interprets = rows <= MOST_ROWS
        if interprets == self._interprets:
            return
        self._chosen = self._chosen or {name: session.conf.get(name) or "" for name in INTERPRETED}
        for name, value in (INTERPRETED if interprets else self._chosen).items():
            session.conf.set(name, value)
        self._interprets = interprets
