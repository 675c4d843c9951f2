"""`verdict warmup`: class archives that make later starts on this machine faster."""

import tempfile
import time
from pathlib import Path

import typer
from confluent_kafka import Producer

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.class_data_sharing import recorded
from verdict.adapters.spark.session import end_jvm
from verdict.cli.options import settings_of
from verdict.cli.render import note, show_progress
from verdict.model.application import Application
from verdict.service.running import ServiceProcess
from verdict.settings.load import settings_alone
from verdict.streaming.exactly_once.failpoints import ProgressCallback

app = typer.Typer()
LOOK_S = 0.2


@app.command()
def warm() -> None:
    """Let the JVMs of Kafka and Spark save the classes that they load, for faster starts.

    A service runs for some seconds on temporary data; your data is not used. The files (300 MB) are
    in the cache folder of this user, and fit only this Java and these jars. Without them everything
    works, and starts take longer.
    """
    with show_progress("starting Kafka and Spark") as report:
        archives = warm_up(settings_of().application, report)
    for archive in archives:
        note(f"{archive} ({archive.stat().st_size / 2**20:.0f} MiB)")
    if not archives:
        note("this Java writes no class archives: starts stay as slow as they are")


def warm_up(application: Application, tell: ProgressCallback) -> list[Path]:
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
