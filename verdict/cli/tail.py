"""`verdict tail`: the records of a topic, decoded, one JSON object a line."""

import re
from enum import StrEnum
from typing import Annotated

import typer
from confluent_kafka import Message
from pydantic import ValidationError
from pydantic_core import from_json

from verdict.adapters.kafka.reader import KafkaLog
from verdict.cli.options import AggregateTypeOrAll, parse_time, possible_id, settings_of
from verdict.cli.render import show_json
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.settings.discovery import kafka_options
from verdict.streaming.event_log.skip_log import reader_skipping
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import DecodeError
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.json import readable, readable_command
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import decode, decode_event
from verdict.wire.response import Rejection, Response
from verdict.wire.topics import Topics

app = typer.Typer(add_completion=False)

PLACE = re.compile(r"(\d+):(\d+)")

# the beginning, the end, a Kafka time in epoch milliseconds, or a partition and an offset
StartPosition = str | int | tuple[int, int]


class RecordKind(StrEnum):
    """What a topic holds."""

    COMMANDS = "commands"
    EVENTS = "events"
    REJECTED = "rejected"
    RESPONSES = "responses"
    DEAD_LETTERS = "dead-letters"
    NOTIFICATIONS = "notifications"


RECORDS = {
    RecordKind.REJECTED: Rejection,
    RecordKind.RESPONSES: Response,
    RecordKind.DEAD_LETTERS: DeadLetter,
}


@app.command()
def tail(
    kind: Annotated[RecordKind, typer.Argument(help="Which topics.", show_default=False)],
    aggregate: AggregateTypeOrAll = None,
    id: Annotated[
        str | None, typer.Option("--id", callback=possible_id, help="Only of this aggregate.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="beginning|end|TIME|P:O",
            help="Start there; P:O is a partition and an offset.",
            show_default="end; with --no-follow beginning",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Wait for more, or stop at the end.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="As it is anyway.")] = False,
) -> None:
    """Print the records of a topic as JSON, one a line, with topic, partition and offset.

    Records of several partitions come in the order in which Kafka delivers them.
    """
    settings = settings_of()
    types = _topics(settings.topics, kind, aggregate)
    begin = parse_from(start or ("end" if follow else "beginning"))
    if isinstance(begin, tuple) and len(types) > 1:
        raise typer.BadParameter("P:O is a position in one topic: name the AGGREGATE too")
    options = kafka_options(settings)
    with reader_skipping(options, settings.topics, only_unreadable=True) as log:
        wanted: dict[TopicPartition, OffsetRange] = {}
        for topic in types:
            wanted |= _start_offsets(log, topic, begin)
        for message in log.read(wanted, follow):
            if id is None or message.key() == id.encode():
                aggregate_type = types[str(message.topic())]
                record = _decoded(settings.application, kind, aggregate_type, message)
                show_json(record, flush=True)


def _topics(topics: Topics, kind: RecordKind, aggregate: str | None) -> dict[str, str]:
    """Return topic → the aggregate type of its records, "" for records of all types."""
    notifications = [topics.named(one.topic) for one in topics.application.notifications]
    of_all = {RecordKind.DEAD_LETTERS: [topics.dead_letters]}
    of_all[RecordKind.NOTIFICATIONS] = notifications
    if kind in of_all:
        if aggregate is not None:
            raise typer.BadParameter(f"{kind} of all aggregates are in one topic: use --id")
        return dict.fromkeys(of_all[kind], "")
    types = [aggregate] if aggregate else topics.application.aggregate_types
    return {getattr(topics, kind)(one): one for one in types}


def parse_from(text: str) -> StartPosition:
    """Read `--from`."""
    if text in ("beginning", "end"):
        return text
    if match := PLACE.fullmatch(text):
        return int(match[1]), int(match[2])
    return parse_time(text)


def _start_offsets(
    log: KafkaLog, topic: str, start: StartPosition
) -> dict[TopicPartition, OffsetRange]:
    """Return what to read of a topic, up to what is there now."""
    kept = log.bounds(log.places([topic]))
    match start:
        case int(millis):
            since = log.first_since(kept, millis)
            return {place: OffsetRange(since[place], span.end) for place, span in kept.items()}
        case number, offset:
            place = TopicPartition(topic, number)
            if place not in kept:
                raise typer.BadParameter(
                    f"{topic} has the partitions 0 to {len(kept) - 1}, not {number}"
                )
            if offset > kept[place].end:
                raise typer.BadParameter(
                    f"{topic}:{number} ends at offset {kept[place].end}, there is no {offset} yet"
                )
            return {place: OffsetRange(offset, kept[place].end)}
        case "end":
            return {place: OffsetRange(span.end, span.end) for place, span in kept.items()}
        case _:
            return kept


def _decoded(
    application: Application, kind: RecordKind, aggregate_type: str, message: Message
) -> Fields:
    """Return a record with its topic, partition and offset.

    A record that cannot be read is shown as it is, with the `error`.
    """
    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    value = message.value() or b""
    try:
        # again: a command that is not well-formed may say anything of itself
        return place | _fields(application, kind, aggregate_type, value) | place
    except (DecodeError, ValidationError) as error:
        return place | {"error": str(error), "key": message.key(), "bytes": value}


def _fields(
    application: Application, kind: RecordKind, aggregate_type: str, value: bytes
) -> Fields:
    if kind in RECORDS:
        return readable(decode(RECORDS[kind], value))
    if kind is RecordKind.NOTIFICATIONS:
        try:
            return dict(from_json(value))
        except (ValueError, TypeError) as error:
            raise DecodeError(f"not JSON: {error}") from error
    context = catalog_of(application)[aggregate_type]
    if kind is RecordKind.COMMANDS:
        return readable_command(context, value)
    return readable(decode_event(context, value))
