"""What others write to read our events works, in another language and with none of our code."""

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from confluent_kafka import Producer

from compose.application import app
from tests.application import APPLICATION
from tests.documents import ROOT
from tests.http.filled import PLACE
from tests.topics import create
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.local.jars import fetched
from verdict.adapters.local.java import find_java
from verdict.testing import InMemory
from verdict.wire.topics import Topics

EXAMPLE = ROOT / "examples" / "Consumer.java"


def java(*arguments: str | Path) -> str:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    jars = f"{fetched() / 'spark'}/*:{Path(spark.origin).parent / 'jars'}/*"
    command = [find_java(), "-XX:TieredStopAtLevel=1", "-cp", jars, EXAMPLE, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.process
@pytest.mark.long
def test_a_consumer_in_java_reads_events_by_the_schema_files(broker: EmbeddedBroker) -> None:
    topics = Topics(APPLICATION, prefix="java.")
    name = topics.events("order")
    create(broker.bootstrap_servers, topics, {name})
    with InMemory(app) as memory:
        memory.send("o-1", PLACE, 0)
        [event] = memory.events(memory.topics.events("order"))
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(name, event.value, event.key)
    producer.flush(30)

    told = json.loads(java(broker.bootstrap_servers, name, ROOT / "schemas" / "avro"))

    assert (told["aggregate_id"], told["version"]) == ("o-1", 1)
    assert told["payload"] == PLACE.model_dump()


def test_an_example_can_be_read_at_a_glance() -> None:
    programs = [path for path in EXAMPLE.parent.iterdir() if path.suffix in (".java", ".py")]
    lines = {path.name: len(path.read_text().splitlines()) for path in programs}

    assert {name: count for name, count in lines.items() if count > 80} == {}
