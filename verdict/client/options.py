"""How librdkafka is set up on the sending side."""

import logging
from collections.abc import Mapping
from typing import Any

LOG = logging.getLogger("verdict.kafka")
LOG.addHandler(logging.NullHandler())  # a library is silent until its user asks

Options = dict[str, Any]


def producer_options(bootstrap_servers: str, config: Mapping[str, str]) -> Options:
    """Return the options of the producer; what keeps the order cannot be configured away."""
    return {
        "client.id": "verdict-client",
        "linger.ms": 2,
        "delivery.timeout.ms": 30_000,
        "reconnect.backoff.max.ms": 1_000,
        **config,
        "bootstrap.servers": bootstrap_servers,
        "logger": LOG,
        "enable.idempotence": True,
        "acks": "all",
        "partitioner": "murmur2_random",  # Java's default, so one key has one partition for all
    }


def consumer_options(bootstrap_servers: str, config: Mapping[str, str]) -> Options:
    """Return the options of the consumer of responses: no group, only what is committed."""
    return {
        "client.id": "verdict-client",
        "reconnect.backoff.max.ms": 1_000,
        "fetch.wait.max.ms": 10,  # the broker may hold an answer back so long to fill a reply
        **config,
        "bootstrap.servers": bootstrap_servers,
        "logger": LOG,
        "group.id": "verdict-client",  # asked for by librdkafka; nothing joins or commits
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "error",
    }
