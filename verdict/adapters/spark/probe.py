"""Checks Spark at the start: its Kafka client, and the files and versions of its executors.

Spark itself would report a refused client in a page of Java, after three attempts. It does not
notice at all that a folder is not shared, or that an executor has other rules.
"""

import platform
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from verdict.adapters.spark.query_settings import own_pool
from verdict.errors import UnreachableError, VerdictError
from verdict.model.application import Application

ANSWER_MS = 10_000
WRAPPERS = {"ExecutionException", "KafkaException"}  # they repeat the message of their cause
FILE = ".seen-by-all"
EXECUTOR_S = 60.0  # until the first one has come
LOOK_S = 0.2
SETTLED_S = 1.0  # executors register one after the other
HOLD_S = 0.3  # a task keeps its slot so long, so that the next one goes to another executor
PACKAGES = ("verdict-cqrs", "pyspark", "pyarrow", "pandas", "lmdb", "fastavro", "pydantic")

Answer = Mapping[str, str]
"""The name of a check → what was found."""


def require_spark_access(spark: SparkSession, options: Mapping[str, str]) -> None:
    """Return when Java's client has got an answer from Kafka."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for name, value in options.items():
        properties.setProperty(name, value)
    admin = jvm.org.apache.kafka.clients.admin
    try:
        client = admin.AdminClient.create(properties)
        try:
            patience = admin.DescribeClusterOptions().timeoutMs(ANSWER_MS)
            client.describeCluster(patience).nodes().get()
        finally:
            client.close(jvm.java.time.Duration.ZERO)
    except Py4JJavaError as error:
        reason = ": ".join(_messages(error.java_exception))
        suspects = "spark_kafka"
        if "keystore" in reason:
            suspects = (
                "kafka_key_file and spark_kafka; of encrypted keys every Java reads those of "
                "`openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`"
            )
        raise UnreachableError(
            f"Spark's client cannot reach Kafka at {options['bootstrap.servers']} ({reason}), and "
            f"librdkafka can with the same kafka_ settings: check {suspects}"
        ) from None  # the cause quotes the options


def _messages(error: Any) -> Iterator[str]:
    """Yield the message of a Java exception and those of its causes, each text once."""
    said = ""
    while error is not None:
        kind, text = error.getClass().getSimpleName(), error.getMessage() or ""
        if "JAAS" in text:
            text = "sasl.jaas.config is malformed"  # Java's message quotes from it
        if kind not in WRAPPERS and (not text or text not in said):
            said += f"{kind} {text}"
            yield f"{kind} {text}".strip()
        error = error.getCause()


def await_fitting_executors(
    spark: SparkSession, shared: Path, application: Application, patience_s: float = EXECUTOR_S
) -> None:
    """Return when executors are there, and each sees `shared` and runs what the driver runs.

    Executors that join later are not checked.

    Raises:
        UnreachableError: None has come.
        VerdictError: One differs, or cannot answer; names each difference.
    """
    master, deadline = spark.sparkContext.master, time.monotonic() + patience_s
    while not spark.sparkContext._jsc.sc().getExecutorIds().size():
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"no executor of {master} has come in {patience_s:.0f} s: see whether it runs and "
                "has cores and memory left (executor.memory, cores.max in the table `spark`), and "
                "reaches this machine (driver.host)"
            )
        time.sleep(LOOK_S)
    time.sleep(SETTLED_S)
    shared.mkdir(parents=True, exist_ok=True)
    token = str(uuid.uuid4())
    file = shared / f"{FILE}-{token}"  # other roles ask at the same time
    file.write_text(token)
    try:
        answers = _asked(spark, application, file)
    finally:
        file.unlink(missing_ok=True)
    wanted = answer_of(application, token)
    if differences := sorted({*differing(wanted, answers, shared)}):
        raise VerdictError(f"executors of {master} do not fit: {'; '.join(differences)}")


def _asked(spark: SparkSession, application: Application, file: Path) -> list[tuple[str, Answer]]:
    """Return the hosts of executors, and what they answer."""
    context = spark.sparkContext
    tasks = context.defaultParallelism  # as many as run at a time
    try:
        with own_pool(spark, "probe"):
            asked = context.parallelize(range(tasks), tasks)
            return asked.map(lambda _: answer_here(application, file)).collect()
    except Exception as error:
        last = str(error).strip().splitlines()
        said = next((line for line in last if "Error" in line), last[0] if last else "")
        raise VerdictError(
            f"an executor of {context.master} cannot answer ({said.strip()[:300]}): install the "
            "same Python, packages and application there (pyspark.python in the table `spark`)"
        ) from error


def answer_of(application: Application, token: str) -> Answer:
    """Return the versions that this process runs."""
    return {
        "Python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "rules": f"{application.name} {application.handler_versions}",
        "file": token,
    }


def differing(wanted: Answer, answers: Iterable[tuple[str, Answer]], shared: Path) -> Iterator[str]:
    """Yield a sentence for each difference."""
    for host, found in answers:
        for what, ours in wanted.items():
            if found.get(what) == ours:
                continue
            if what == "file":
                yield f"{host} does not see what was written to {shared} (shared_dir)"
            else:
                yield f"{host} has {what} {found.get(what)}, the driver {ours}"


def answer_here(application: Application, file: Path) -> tuple[str, Answer]:
    """Return which host this is, and what it sees and runs; called in a task."""
    try:
        token = file.read_text()
    except OSError as error:
        token = type(error).__name__
    time.sleep(HOLD_S)
    return socket.gethostname(), answer_of(application, token)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
