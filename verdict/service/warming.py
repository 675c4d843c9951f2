"""One short life of the whole service on throw-away data, for the class archives of its JVMs."""

import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.class_data_sharing import recorded
from verdict.adapters.spark.session import end_jvm
from verdict.model.application import Application
from verdict.service.running import ServiceProcess
from verdict.settings.load import settings_alone
from verdict.streaming.exactly_once.failpoints import ProgressCallback, ignore_step

LOOK_S = 0.2


def warm_up(application: Application, tell: ProgressCallback = ignore_step) -> list[Path]:
    """Let Kafka and Spark live through a start, a record and an end; return what they wrote.

    Nothing of what is set is used or touched: a broker and a database of its own, in a folder that
    is removed.
    """
    with tempfile.TemporaryDirectory(prefix="verdict-") as folder, recorded() as archives:
        settings = settings_alone(application, data_dir=Path(folder))
        with ServiceProcess(settings, tell=tell) as running:
            _let_one_be_refused(running)
        tell("writing the classes down")
        end_jvm()
    return archives


def _let_one_be_refused(running: ServiceProcess) -> None:
    """Let a record that is no command go the whole way, into the table of letters.

    Any application can do that. Rules run in Python, for a JVM most commands are alike.
    """
    topics = running.settings.topics
    servers = {"bootstrap.servers": running.service.bootstrap_servers}
    producer = Producer(servers)
    producer.produce(topics.every_commands()[0], b"no command", b"warm")
    producer.flush()
    with KafkaLog(servers) as log:
        places = log.places([topics.dead_letters])
        while not any(kept.end for kept in log.bounds(places).values()):
            running.check()
            time.sleep(LOOK_S)
