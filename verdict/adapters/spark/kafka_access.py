"""Whether Spark's own Kafka client, Java's, gets in: tried once, before any query is started.

A query would try three times, end, and say so in a page of Java and plans.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from verdict.errors import UnreachableError

ANSWER_MS = 10_000
WRAPPERS = {"ExecutionException", "KafkaException"}  # their message is that of the cause


def require_spark_access(spark: SparkSession, options: Mapping[str, str]) -> None:
    """Return when Java's client has got an answer from Kafka.

    Raises:
        UnreachableError: It has not; names the settings to look at.
    """
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
        raise UnreachableError(
            f"Spark's client cannot reach Kafka at {options['bootstrap.servers']} ({reason}), and "
            f"librdkafka can with the same kafka_ settings: check {_suspects(reason)}"
        ) from None  # the cause quotes what Java was told


def _messages(error: Any) -> Iterator[str]:
    """Yield what an exception of Java says, and its causes, each text once."""
    said = ""
    while error is not None:
        kind, text = error.getClass().getSimpleName(), error.getMessage() or ""
        if "JAAS" in text:
            text = "sasl.jaas.config is malformed"  # what Java says quotes from it
        if kind not in WRAPPERS and (not text or text not in said):
            said += f"{kind} {text}"
            yield f"{kind} {text}".strip()
        error = error.getCause()


def _suspects(reason: str) -> str:
    if "keystore" in reason:
        return (
            "kafka_key_file and spark_kafka; of encrypted keys every Java reads those of "
            "`openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`"
        )
    return "spark_kafka"
