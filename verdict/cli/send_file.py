"""Many commands from a file of NDJSON envelopes, sent as they are."""

import json
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import NamedTuple

import typer
from pydantic import TypeAdapter, ValidationError

from verdict.cli.options import known_aggregate
from verdict.cli.render import show_json, show_progress
from verdict.client.client import Client
from verdict.client.errors import OutcomeUnknownError
from verdict.client.pending import Pending
from verdict.model.command_envelope import aggregate_id_rule, command_id_rule
from verdict.wire.codec import DecodeError
from verdict.wire.commands import read_json_to_send
from verdict.wire.json import readable

AWAITED_AT_ONCE = 10_000
REPORTED_EACH = 100  # commands


class FileEnvelope(NamedTuple):
    """A line: its bytes, and what is needed to send them."""

    aggregate_type: str
    aggregate_id: str
    command_id: str
    value: bytes


def envelopes(lines: Iterable[bytes], aggregate_type: str | None) -> Iterator[FileEnvelope]:
    """Yield the envelope of each line that is not empty.

    The bytes are sent unchanged, as from any other sender; only `aggregate`, which is not part of
    an envelope, is removed. A byte order mark before the first line is skipped.

    Raises:
        BadParameter: The command processor could not read a line, or a line has no aggregate, no
            usable `aggregate_id` or no usable `command_id`.
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
    return FileEnvelope(aggregate_type, aggregate_id, command_id, text)


def _id(sent: Mapping[str, object], name: str, rule: TypeAdapter[str]) -> str:
    try:
        return rule.validate_python(sent.get(name), strict=True)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise typer.BadParameter(f"{name}: {first['msg']}") from error


class SendCounts:
    """Waits for outcomes in the order of sending, and counts them.

    Args:
        wait_s: Seconds to wait after the last command was sent; None: do not wait.
        print_json: Print each outcome as a line of JSON.
    """

    def __init__(self, wait_s: float | None, print_json: bool) -> None:
        self.sent = 0
        self.accepted = 0
        self.duplicates = 0
        self.rejected: Counter[str] = Counter()
        self.unknown: list[str] = []
        self.wait_s = wait_s
        self._json = print_json
        self._pendings: deque[Pending] = deque()

    def add(self, pending: Pending) -> None:
        """Count a command that was sent; wait for an early outcome when there are many."""
        self.sent += 1
        if self.wait_s is None:
            return
        self._pendings.append(pending)
        if len(self._pendings) > AWAITED_AT_ONCE:
            self._take(self.wait_s)

    def finish(self) -> Iterator[int]:
        """Wait for the missing outcomes; yield how many are left before each of them."""
        deadline = monotonic() + (self.wait_s or 0)
        while self._pendings:
            yield len(self._pendings)
            self._take(max(deadline - monotonic(), 0))

    def _take(self, timeout_s: float) -> None:
        pending = self._pendings.popleft()
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


def send_all(client: Client, found: Iterable[FileEnvelope], tally: SendCounts) -> None:
    """Send every envelope, show the progress, and wait for the outcomes if they are wanted."""
    with show_progress("sending") as report:
        for envelope in found:
            tally.add(client.send_encoded(*envelope))
            if tally.sent % REPORTED_EACH == 0:
                report(f"{tally.sent:,} sent")
        client.flush()
        for left in tally.finish():
            if left % REPORTED_EACH == 0:
                report(f"{tally.sent:,} sent, {tally.sent - left:,} answered")
