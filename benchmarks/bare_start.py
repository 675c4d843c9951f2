"""A bare start, which `verdict up` is compared with: Kafka, Spark, a query that decides nothing.

    python -m benchmarks.bare_start DATA_DIR

It starts one thing after the other: an embedded broker, its topics, a Spark session with the
settings of verdict, and a stateful query that passes records on. When the first record can be read,
it prints the processor time of all its processes, and ends.
"""

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

from confluent_kafka import Producer

from benchmarks.cpu import cpu_by_process
from benchmarks.floor import passed_on, start_query
from benchmarks.workload import command
from tests.application import APPLICATION
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.spark.session import spark_session
from verdict.settings.load import load_settings

LOOK_S = 0.02


def main(data_dir: Path) -> None:
    """Start, and end with the first record."""
    settings = load_settings(APPLICATION, data_dir=data_dir)
    with ExitStack() as parts:
        broker = parts.enter_context(EmbeddedBroker(data_dir / "broker"))
        servers, topics = broker.bootstrap_servers, settings.topics
        TopicAdmin({"bootstrap.servers": servers}, topics).create_missing()
        log = parts.enter_context(KafkaLog({"bootstrap.servers": servers}))
        responses = log.places([topics.responses("order")])
        written = log.bounds(responses)
        _send(servers, topics.commands("order"))
        cores, memory = os.cpu_count() or 1, settings.driver_memory
        spark = spark_session("bare", cores, settings.shards, memory, data_dir / "spark")
        parts.callback(spark.stop)
        query = start_query(spark, servers, settings, passed_on, "append")
        parts.callback(query.stop)
        while log.bounds(responses) == written:
            if failure := query.exception():
                raise failure
            time.sleep(LOOK_S)
        print(round(sum(cpu_by_process().values()), 1), flush=True)


def _send(servers: str, topic: str) -> None:
    one = command("order", 0, 0, Random(1))
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, one.value, one.key)
    producer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
