"""The demo from its start to its end."""

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Producer
from rich.console import Console

from compose.demo.chapters import CHAPTERS, Chapter
from compose.demo.checks import Checks
from compose.demo.stopping import Interruption, nothing_left_running
from compose.demo.story import Story
from compose.demo.throwaway import DefaultSettings, data_directory
from compose.demo.voice import Voice
from verdict import Client, Reader, SendingFailed, Settings, Unreachable
from verdict.client.options import LOG
from verdict.kafka.log import KafkaLog
from verdict.projection.declared import projections
from verdict.projection.processor_tables import readable
from verdict.service.running import Running


def run(commands: int, keep: Path | None = None, chapters: Sequence[Chapter] = CHAPTERS) -> Checks:
    """Tell the whole story and return what was checked; to be called in the main thread.

    Ctrl-C and SIGTERM end it as exceptions; nothing is left running, and no file behind.

    Args:
        commands: How many the load sends; even.
        keep: Where the data stays afterwards; default: a directory that is removed.
        chapters: What is told.

    Raises:
        VerdictError: The application cannot start, stopped, or does not get on.
    """
    voice = Voice(Console(highlight=False, markup=False))
    status = Console(stderr=True).status("")
    with (
        Interruption() as interruption,
        data_directory(keep) as folder,
        nothing_left_running(),
        status,
    ):
        status.update("starting Kafka and Spark")
        settings = DefaultSettings(data_dir=folder, lake_trigger_ms=1000)
        with _running(voice, interruption, settings, commands) as story:
            status.stop()
            _tell(story, chapters)
            _close(voice, keep)
            status.update("stopping")
            status.start()
    return voice.checks


@contextmanager
def _running(
    voice: Voice, interruption: Interruption, settings: Settings, commands: int
) -> Iterator[Story]:
    """Start everything, say so, and stop it at the end."""
    voice.begin(
        "Start",
        "What `verdict up` runs as a service, here on throw-away data: a real Kafka broker, a "
        "Spark query that decides commands, and one that fills tables in SQLite.",
    )
    began = time.monotonic()
    with ExitStack() as parts:
        running = parts.enter_context(Running(settings))
        interruption.listen()
        servers, url = running.service.bootstrap_servers, running.service.database_url
        first, second = (parts.enter_context(Client(servers, settings.topics)) for _ in range(2))
        log = parts.enter_context(KafkaLog({"bootstrap.servers": servers}))
        views = readable(projections(settings.chosen))
        voice.say(f"All of it takes commands after {time.monotonic() - began:.1f} s.")
        yield Story(
            running=running,
            interruption=interruption,
            voice=voice,
            topics=settings.topics,
            clients=(first, second),
            plain=Producer(
                # Java's default partitioner, so that a key has one partition whoever sends
                {"bootstrap.servers": servers, "partitioner": "murmur2_random", "logger": LOG}
            ),
            log=log,
            reader=parts.enter_context(Reader(url, views, settings.operator_role)),
            commands=commands,
        )


def _tell(story: Story, chapters: Sequence[Chapter]) -> None:
    try:
        for tell in chapters:
            story.interruption.check()
            tell(story)
    except SendingFailed as error:
        raise Unreachable(str(error)) from error


def _close(voice: Voice, keep: Path | None) -> None:
    """Say what to type next, and whether everything was as it must be."""
    verdict, place = _program(), f" --data-dir {keep}" if keep else ""
    voice.begin("What to type next", "In one terminal the first, in another the others:")
    for line in (
        f"{verdict} up{place}",
        f"{verdict} send{place} order PlaceOrder \\",
        "  --id order-9 --expected-version 0 --wait 60 \\",
        "  --field client=ada --field ticker=AAPL --field side=BUY \\",
        "  --field quantity=10 --field limit_price_cents=19000",
        f'{verdict} sql{place} "SELECT * FROM outcome"',
    ):
        voice.say("  " + line)
    voice.say("")
    checks = voice.checks
    if not checks.differences:
        voice.say(f"{checks.made} checks, and everything is what it must be.")
        return
    voice.say(f"{len(checks.differences)} of {checks.made} checks failed:")
    for difference in checks.differences:
        voice.say(f"  {difference}")


def _program() -> str:
    """Return how this program is called from here."""
    if shutil.which("verdict"):
        return "verdict"
    called = Path(sys.argv[0])
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
