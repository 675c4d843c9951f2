"""`verdict demo`: the whole path on throw-away data, told and checked."""

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from compose.application import app as application
from compose.demo import books, events, holders, load, races, second_try, tills
from compose.demo.plain_kafka import PlainKafka
from compose.demo.stopping import Interruption
from compose.demo.story import Story
from compose.demo.throwaway import data_directory
from compose.demo.voice import Voice
from verdict import Client, open_reader
from verdict.errors import SendFailedError, UnreachableError
from verdict.readers import Access
from verdict.testing import Service

# in the order in which they are told; a new one is a module and a name here
CHAPTERS = (holders, races, load, events, tills, second_try, books)

NEXT = """\
{verdict} up{place}
{verdict} send{place} order PlaceOrder \\
  --id order-9 --expected-version 0 --wait 60 \\
  --field client=ada --field ticker=AAPL --field side=BUY \\
  --field quantity=10 --field limit_price_cents=19000
{verdict} sql{place} "SELECT * FROM outcome\""""
COMMANDS = 20_000
FEWEST = 200  # with fewer there are no races in the load

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    commands: Annotated[
        int, typer.Option(min=FEWEST, help="How many the load sends, rounded up to even.")
    ] = COMMANDS,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the data in this new directory.")
    ] = None,
) -> None:
    """Show the whole path on throw-away data, and check what it shows.

    It starts its own Kafka, whatever the settings say, and leaves nothing behind. Exit codes: 0
    when everything is what it must be, 1 when something is not: it is named at the end.
    """
    if run(commands + commands % 2, keep).failed:
        raise typer.Exit(1)


def run(commands: int, keep: Path | None = None) -> Voice:
    """Tell the whole story, and return who told it."""
    voice = Voice(Console(highlight=False, markup=False))
    with Interruption() as interruption, data_directory(keep) as folder, ExitStack() as parts:
        story = _started(voice, interruption, folder, commands, parts)
        try:
            for chapter in CHAPTERS:
                chapter.tell(story)
        except SendFailedError as error:
            raise UnreachableError(str(error)) from error
        _close(voice, f" --data-dir {keep}" if keep else "")
        with voice.waiting("all of it stops"):
            parts.close()
    return voice


def _started(
    voice: Voice, interruption: Interruption, folder: Path, commands: int, parts: ExitStack
) -> Story:
    """Start everything, and say so."""
    voice.begin(
        "Start",
        "On throw-away data: a real Kafka broker, Spark queries that decide commands and what "
        "follows from them, and a read side that fills tables in SQLite.",
    )
    voice.typed("up")
    began = time.monotonic()
    with voice.waiting("Kafka and Spark start"):
        # a demo does not wait a minute for a file
        service = parts.enter_context(Service(application, folder, lake_trigger_ms=1000))
    voice.tell(service.ready)
    voice.say(f"All of it takes commands after {time.monotonic() - began:.1f} s.")
    servers = service.bootstrap_servers
    first, second = (parts.enter_context(Client(application, servers)) for _ in range(2))
    reader = parts.enter_context(open_reader(service.settings, Access.SUPPORT))
    plain = PlainKafka(servers)
    return Story(service, interruption, voice, (first, second), plain, reader, commands)


def _close(voice: Voice, place: str) -> None:
    """Say what to type next, and whether everything was as it must be."""
    voice.begin("What to type next", "In one terminal the first, in another the others:")
    for line in NEXT.format(verdict=os.path.relpath(sys.argv[0]), place=place).splitlines():
        voice.say(f"  {line}")
    voice.say("")
    if not voice.failed:
        voice.say(f"{voice.made} checks, and everything is what it must be.")
        return
    voice.say(f"{len(voice.failed)} of {voice.made} checks failed:")
    for failed in voice.failed:
        voice.say(f"  {failed}")
