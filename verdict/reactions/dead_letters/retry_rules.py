"""From a record on `dead-letters` to a row: when it is tried again, or why it is parked.

A record gives the same row each time, except its due time. That counts from when the letter is
stored, because the time that a broker or a service stamped on it may be wrong.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from verdict.model.message import END_OF_TIME
from verdict.model.nul import spell_out
from verdict.read_side.tables.row_states import PARKED, WAITING
from verdict.wire.backoff import Declared, InvalidBackoffError, back_off, wait_ms
from verdict.wire.cloud_events import DEAD_LETTER
from verdict.wire.codec import DecodeError
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import (
    MOST_ATTEMPTS,
    RETRY_ATTEMPT,
    RETRY_ATTEMPTS,
    RETRY_BACKOFF,
    RETRY_ID,
    RETRY_POLICY,
    RETRY_TOPIC,
    DeadLetterRecord,
    Pairs,
    dead_letter_id,
)
from verdict.wire.records import decode

REPLACED = frozenset({RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_TOPIC, RETRY_ID})
ERROR_CHARS = 2000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """Defaults for letters without headers, and where letters may go."""

    attempts: int
    backoff: str
    retry_topic: str
    problem_with: Callable[[str], str | None]
    now: Callable[[], int]
    declared: Declared = field(default_factory=dict)


def row_of(letter: DeadLetterRecord, rules: RetryRules) -> Row:
    """Return the row of a letter; of the decider's letter, that of the command in it."""
    own, error = _own(letter)
    kept = letter if own is None else replace(letter, key=own.key, value=own.bytes)
    if own is not None:  # only a command that is sent back is tried again
        attempts = 0 if letter.header(RETRY_TOPIC) is None else rules.attempts
        rules = replace(rules, attempts=attempts, retry_topic=own.source.topic)
    row: Row = {
        "id": dead_letter_id(letter.source),
        "topic": letter.source.topic,
        "partition": letter.source.partition,
        "offset": letter.source.offset,
        "attempt": 0,
        "attempts": 0,
        "retry_topic": rules.retry_topic,
        "due_at": None,
        "status": PARKED,
        "error": None,
        "key": kept.key,
        "bytes": kept.value,
        "headers": headers_json(_passed_on(letter, own)),
        "received_at": min(max(letter.timestamp, 0), END_OF_TIME),
        "operator": None,
        "reason": None,
    }
    try:
        row |= _plan(kept, rules)
        if kept.unfit is not None:
            raise InvalidBackoffError(kept.unfit)
        if own is not None:
            _check_whole(own)
    except InvalidBackoffError as problem:
        row |= {"status": PARKED, "due_at": None, "error": str(problem)}
    said = [spell_out(one)[:ERROR_CHARS] for one in (error, row["error"]) if one]
    return row | {"error": "; ".join(said) or None}


def headers_json(headers: Pairs) -> str:
    """Return headers as a JSON array of `[name, value]`.

    A value is a text, null, or `{"base64": …}` if it is no text in UTF-8.
    """
    return json.dumps([[name, _shown(value)] for name, value in headers])


def headers_from_json(text: str) -> Pairs:
    """Return the headers in a text of `headers_json`."""
    return tuple((name, _value(shown)) for name, shown in json.loads(text))


def _shown(value: bytes | None) -> object:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _value(shown: Any) -> bytes | None:
    if shown is None:
        return None
    return b64decode(shown["base64"]) if isinstance(shown, dict) else str(shown).encode()


def _own(letter: DeadLetterRecord) -> tuple[DeadLetter | None, str | None]:
    """Return the decider's own letter in `letter`, if it is one, and its error."""
    if letter.header("ce_type") != DEAD_LETTER.encode() or letter.value is None:
        return None, None
    try:
        own = decode(DeadLetter, letter.value)
    except DecodeError as error:
        return None, f"ce_type says {DEAD_LETTER}, and it is none: {error}"
    return own, f"{own.source}: {own.error}"


def _check_whole(own: DeadLetter) -> None:
    if own.key_length is not None:
        raise InvalidBackoffError(
            f"only {len(own.key or b'')} of {own.key_length} bytes of its key are kept, and no "
            "aggregate has such an id: send it again under its own id and skip this"
        )
    kept = len(own.bytes or b"")
    if own.length != kept:
        raise InvalidBackoffError(
            f"only {kept} of {own.length} bytes are kept, so it cannot be sent as it was: edit it, "
            "or send the whole command again and skip this"
        )


def _passed_on(letter: DeadLetterRecord, own: DeadLetter | None) -> Pairs:
    if own is not None:  # they describe the letter, not what is in it
        return tuple(pair for pair in letter.headers if pair[0] == RETRY_POLICY)
    return tuple(pair for pair in letter.headers if pair[0] not in REPLACED)


def _plan(letter: DeadLetterRecord, rules: RetryRules) -> Row:
    """Return what the headers say: attempts, where to, and when or why not."""
    attempt = _count(letter, RETRY_ATTEMPT, 0)
    attempts = _count(letter, RETRY_ATTEMPTS, rules.attempts)
    wait = back_off(rules.declared, _text(letter, RETRY_BACKOFF, rules.backoff))
    topic = _text(letter, RETRY_TOPIC, rules.retry_topic)
    if problem := rules.problem_with(topic):
        raise InvalidBackoffError(f"{RETRY_TOPIC} is {topic[:249]!r}: {problem}")
    plan: Row = {"attempt": attempt, "attempts": attempts, "retry_topic": topic}
    if attempt >= attempts:
        failed = f"{attempt} of {attempts} retries failed"
        return plan | {"error": failed if attempts else "it is not to be tried again by itself"}
    waits = wait_ms(wait, replace(letter, attempt=attempt))
    due_at = min(rules.now() + waits, END_OF_TIME)
    return plan | {"status": WAITING, "due_at": due_at}


def _count(letter: DeadLetterRecord, name: str, default: int) -> int:
    text = _text(letter, name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_ATTEMPTS))):
        raise InvalidBackoffError(
            f"{name} is {text[:100]!r} and must be a whole number from 0 to {MOST_ATTEMPTS}: "
            "fix the service that wrote it, then replay the dead letter"
        )
    return int(text)


def _text(letter: DeadLetterRecord, name: str, default: str) -> str:
    value = letter.header(name)
    try:
        return default if value is None else value.decode()
    except UnicodeDecodeError:
        raise InvalidBackoffError(
            f"{name} is {value!r:.100}, which is no text in UTF-8: fix the service that wrote it, "
            "then replay the dead letter"
        ) from None
