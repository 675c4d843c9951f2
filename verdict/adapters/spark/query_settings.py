"""Settings of one query: where its folder is, its share of the scheduler, how its plan runs."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

POOL = "spark.scheduler.pool"
MOST_ROWS = 1_000
_STARTING = threading.Lock()  # several queries start from one session
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",  # read when the next batch is planned
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # read when the tasks of this one begin
}


def local_path(folder: Path) -> str:
    """Return a folder as a URI of Hadoop's, whatever file system a cluster takes by default.

    Nothing is escaped, as `Path.as_uri` does: Hadoop would take a `%20` for the name.
    """
    where = str(folder.absolute())
    return where if "://" in where else f"file://{where}"


@contextmanager
def own_pool(spark: SparkSession, name: str) -> Iterator[None]:
    """Give what begins inside a share of the scheduler, so that long jobs do not delay it."""
    context = spark.sparkContext
    former = context.getLocalProperty(POOL)
    context.setLocalProperty(POOL, name)
    try:
        yield
    finally:
        context.setLocalProperty(POOL, former)  # type: ignore[arg-type]


class CodegenSwitch:
    """Lets one query interpret its small batches; Spark generates Java for the large ones.

    Generating code takes a fifth of the processor time of a single command, and pays for many
    records only. Both ways give the same rows.
    https://github.com/apache/spark/blob/v4.0.0/sql/catalyst/src/main/scala/org/apache/spark/sql/catalyst/expressions/CodeGeneratorWithInterpretedFallback.scala
    """

    def __init__(self) -> None:
        self._chosen: dict[str, str] = {}
        self._interprets = False

    @contextmanager
    def first_batch(self, session: SparkSession) -> Iterator[None]:
        """Interpret the first batch of the query that is started inside: it has to be soon.

        The query takes a copy of the session, whose own settings are as before afterwards.
        """
        with _STARTING:
            self.suit(session, 0)
            try:
                yield
            finally:
                self._set(session, self._chosen)

    def suit(self, session: SparkSession, rows: int) -> None:
        """Choose for the tasks of this batch, and for the plan of the next one."""
        interprets = rows <= MOST_ROWS
        if interprets == self._interprets:
            return
        self._chosen = self._chosen or {name: session.conf.get(name) or "" for name in INTERPRETED}
        self._set(session, INTERPRETED if interprets else self._chosen)
        self._interprets = interprets

    def _set(self, session: SparkSession, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            session.conf.set(name, value)
