"""Many commands from a file of NDJSON envelopes, sent as they are."""

import json
import sys
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import BinaryIO

import typer
from confluent_kafka import KafkaException
from pydantic import TypeAdapter, ValidationError

from verdict.adapters.kafka.errors import advice, settings_refused
from verdict.cli.options import known_aggregate
from verdict.cli.render import note, show_json, show_progress
from verdict.cli.shutdown import exiting_on_sigterm
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailableError, OutcomeUnknownError
from verdict.client.pending import Pending
from verdict.errors import TimedOutError, UnreachableError, VerdictError
from verdict.model.command_envelope import aggregate_id_rule, command_id_rule
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.wire.codec import DecodeError
from verdict.wire.commands import read_json_to_send
from verdict.wire.json import readable

REJECTED = 3
STOPPED = "; stopped before the end: send the file again, each command is decided once"
AWAITED_AT_ONCE = 10_000
REPORTED_EACH = 100  # commands


FileEnvelope = tuple[str, str, str, bytes]  # type and id of the aggregate, command id, bytes


def envelopes(lines: Iterable[bytes], aggregate_type: str | None) -> Iterator[FileEnvelope]:
    """Yield the envelope of each line that is not empty.

    The bytes are sent unchanged, as from any other sender; only `aggregate`, which is not part of
    an envelope, is removed. A byte order mark before the first line is skipped.
    """
    for number, line in enumerate(lines, 1):
        if text := (line.removeprefix(BOM_UTF8) if number == 1 else line).strip():
            try:
                envelope = _envelope(text, aggregate_type)
            except (DecodeError, typer.BadParameter) as error:
                raise typer.BadParameter(f"line {number}: {error}") from error
            yield envelope


def _envelope(text: bytes, aggregate_type: str | None) -> FileEnvelope:
    sent = read_json_to_send(text)
    if "aggregate" in sent:
        aggregate_type = sent.pop("aggregate")
        text = json.dumps(sent, ensure_ascii=False).encode()
    aggregate_id = _id(sent, "aggregate_id", aggregate_id_rule)
    command_id = _id(sent, "command_id", command_id_rule)
    if aggregate_type is None:
        raise typer.BadParameter('it has no "aggregate", and no AGGREGATE was given')
    known_aggregate(aggregate_type)
    return aggregate_type, aggregate_id, command_id, text


def _id(sent: Mapping[str, object], name: str, rule: TypeAdapter[str]) -> str:
    try:
        return rule.validate_python(sent.get(name), strict=True)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise typer.BadParameter(f"{name}: {first['msg']}") from error


class SendCounts:
    """Counts the outcomes of sent commands, and prints them as JSON if this is wanted."""

    def __init__(self, as_json: bool) -> None:
        self.sent = 0
        self.accepted = 0
        self.duplicates = 0
        self.rejected: Counter[str] = Counter()
        self.unknown: list[str] = []
        self._json = as_json

    def wait(self, pending: Pending, timeout_s: float) -> None:
        """Wait for an outcome, and count it."""
        try:
            response = pending.wait(timeout_s)
        except OutcomeUnknownError as error:
            self.unknown.append(str(error))
            return
        self.duplicates += response.duplicate
        if response.reason is None:
            self.accepted += 1
        else:
            self.rejected[response.reason] += 1
        if self._json:
            show_json(readable(response))

    def __str__(self) -> str:
        counted = [f"{self.sent} sent"]
        if self.accepted:
            counted.append(f"{self.accepted} accepted")
        counted += [f"{count} rejected {reason}" for reason, count in self.rejected.most_common()]
        if self.duplicates:
            counted.append(f"{self.duplicates} of them duplicates")
        return ", ".join(counted)


def send_file(
    settings: Settings, file: str, aggregate_type: str | None, wait_s: float | None, as_json: bool
) -> None:
    """Send every envelope of a file, and wait for the outcomes if they are wanted."""
    counts, stopped = SendCounts(as_json), STOPPED
    try:
        with exiting_on_sigterm(), _lines(file) as lines, sending(settings) as client:
            _send_all(client, envelopes(lines, aggregate_type), counts, wait_s)
            stopped = ""
    finally:
        if counts.sent:
            note(f"{counts}{stopped}")
    if counts.unknown:
        raise TimedOutError(
            f"{len(counts.unknown)} outcomes are unknown, the first: {counts.unknown[0]}"
        )
    if counts.rejected:
        raise typer.Exit(REJECTED)


def _send_all(
    client: Client, found: Iterable[FileEnvelope], counts: SendCounts, wait_s: float | None
) -> None:
    pendings = deque[Pending]()
    with show_progress("sending") as report:
        for envelope in found:
            pending = client.send_encoded(*envelope)
            counts.sent += 1
            if counts.sent % REPORTED_EACH == 0:
                report(f"{counts.sent:,} sent")
            if wait_s is not None:
                pendings.append(pending)
                if len(pendings) > AWAITED_AT_ONCE:
                    counts.wait(pendings.popleft(), wait_s)
        client.flush()
        deadline = monotonic() + (wait_s or 0)
        while pendings:
            if len(pendings) % REPORTED_EACH == 0:
                report(f"{counts.sent:,} sent, {len(pendings):,} without an outcome yet")
            counts.wait(pendings.popleft(), max(deadline - monotonic(), 0))


@contextmanager
def sending(settings: Settings) -> Iterator[Client]:
    """Give a client; errors of its options and of a command's fields are those of this verb."""
    options = kafka_options(settings)
    servers = options.pop("bootstrap.servers")
    try:
        sender = Client(
            settings.application, servers, settings.topics, options, settings.max_command_bytes
        )
    except KafkaException as error:
        raise settings_refused(error) from error
    try:
        with sender as client:
            yield client
    except KafkaUnavailableError as error:
        hint = f": {advice(error.reason)}" if error.reason else ""
        raise UnreachableError(f"{error}{hint}") from error
    except VerdictError:  # a command that is too large is a ValueError, too
        raise
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise typer.BadParameter(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:  # an integer that Avro cannot hold
        raise typer.BadParameter(str(error)) from error


def _lines(file: str) -> AbstractContextManager[BinaryIO]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from error
