"""Lists topics, and gives up as soon as Kafka refuses us."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]

FIRST_S = 0.25


def is_refused(said: str) -> bool:
    """Tell whether a connection failed because of a password or a certificate.

    What librdkafka calls "Local", such as a timeout, is not the broker's answer.
    """
    return ("SASL " in said and "Local: " not in said) or "SSL routines" in said


def list_topics(
    client: AdminClient | Consumer,
    timeout_s: float,
    last_failure: Callable[[], str],
    topic: str | None = None,
) -> ClusterMetadata:
    """Return what Kafka lists; librdkafka alone would try until the timeout in any case."""
    deadline = time.monotonic() + timeout_s
    patience = FIRST_S
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            return client.list_topics(topic, timeout=min(patience, left))
        except KafkaException:
            if left <= patience or is_refused(last_failure()):
                raise
        patience *= 2
