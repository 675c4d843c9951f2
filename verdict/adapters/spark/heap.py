"""The heap of Spark's JVM: what a start or a burst took and nobody needs goes back to the machine.

G1 keeps up to 70 % of a heap free, day and night (`MaxHeapFreeRatio`). A full collection sizes the
heap by two flags that may be changed while the JVM runs, so they are small for one collection,
after everything has been quiet for a while, and under load what they always are:
https://docs.oracle.com/en/java/javase/17/docs/api/jdk.management/com/sun/management/HotSpotDiagnosticMXBean.html
"""

import logging
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

LOG = logging.getLogger("verdict.heap")
QUIET_S = 30.0
LEAST, MOST = "MinHeapFreeRatio", "MaxHeapFreeRatio"  # in percent of the heap
SMALL = {LEAST: "10", MOST: "20"}
BEAN = "com.sun.management.HotSpotDiagnosticMXBean"


class Heap:
    """Gives back once in each quiet time.

    Args:
        spark: Whose JVM it is; only read from the process that started it.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._gateway: Any = spark.sparkContext._gateway
        self._given_back = False

    def look(self, quiet_s: float) -> None:
        """Give back what is free, if it is time to and was not done yet."""
        if quiet_s < QUIET_S:
            self._given_back = False
        elif not self._given_back:
            self._given_back = True
            self.give_back()

    def give_back(self) -> None:
        """Collect once, and keep little of what is free; a JVM of another kind only collects."""
        try:
            usual = {name: self._flag(name) for name in SMALL}
            self._set(LEAST, MOST, to=SMALL)
        except Py4JJavaError as error:
            LOG.warning("the heap cannot be told to shrink: %s", error.java_exception)
            return
        try:
            self._gateway.jvm.java.lang.System.gc()
        finally:
            self._set(MOST, LEAST, to=usual)  # the least is never above the most

    def _flag(self, name: str) -> str:
        return str(self._ask("getVMOption", name).getValue())

    def _set(self, *names: str, to: dict[str, str]) -> None:
        for name in names:
            self._ask("setVMOption", name, to[name])

    def _ask(self, method: str, *values: str) -> Any:
        """Call the bean by its public interface: its own class is closed to reflection."""
        java = self._gateway.jvm.java.lang
        bean = java.Class.forName(BEAN)
        kinds = self._gateway.new_array(java.Class, len(values))
        given = self._gateway.new_array(java.Object, len(values))
        for place, value in enumerate(values):
            kinds[place], given[place] = java.Class.forName("java.lang.String"), value
        mine = java.management.ManagementFactory.getPlatformMXBean(bean)
        return bean.getMethod(method, kinds).invoke(mine, given)
