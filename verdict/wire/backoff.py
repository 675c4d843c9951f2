"""How long a dead letter waits for its next try: `fixed:…`, `exponential:…`, or a function."""

import math
import re
from collections.abc import Callable, Mapping

from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.error_text import kind_and_text

LONGEST_S = 366 * 24 * 3600.0
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(ms|[smhd])", re.ASCII)
FACTOR = re.compile(r"\d{1,6}(?:\.\d{1,6})?", re.ASCII)
UNKNOWN = (
    "the back-off {!r} is unknown: it must be like 'fixed:1s,10s,1m', 'exponential:1s,2,1h' "
    "(first, factor, longest), with the units ms, s, m, h and d, or a name among the `backoffs` "
    "of the application"
)

BackOff = Callable[[DeadLetterRecord], float]
Declared = Mapping[str, BackOff]


class InvalidBackoffError(ValueError):
    """A back-off is invalid or failed; the message says why."""


def back_off(declared: Declared, spec: str) -> BackOff:
    """Return the function from a dead letter to its seconds; raises `InvalidBackoffError`."""
    kind, _, arguments = spec.partition(":")
    parts = [part.strip() for part in arguments.split(",")]
    if spec in declared:
        return declared[spec]
    if kind == "fixed":
        return _fixed([_seconds(part, spec) for part in parts])
    if kind == "exponential" and len(parts) == 3 and FACTOR.fullmatch(parts[1]):
        first, longest = _seconds(parts[0], spec), _seconds(parts[2], spec)
        if float(parts[1]) >= 1:
            return _exponential(first, float(parts[1]), longest)
    raise InvalidBackoffError(UNKNOWN.format(spec[:200]))


def wait_ms(wait: BackOff, letter: DeadLetterRecord) -> int:
    """Return how many milliseconds `letter` waits, rounded up; raises `InvalidBackoffError`."""
    try:
        seconds = float(wait(letter))
    except Exception as error:  # of the application
        raise InvalidBackoffError(
            f"the back-off failed ({kind_and_text(error)}): fix it, then replay the dead letter"
        ) from error
    if not 0 <= seconds <= LONGEST_S:
        raise InvalidBackoffError(
            f"the back-off gave {seconds:g} seconds, and 0 to {LONGEST_S:.0f} are allowed: fix "
            "it, then replay the dead letter"
        )
    return math.ceil(round(seconds * 1000, 3))


def _fixed(steps: list[float]) -> BackOff:
    return lambda letter: steps[min(letter.attempt, len(steps) - 1)]


def _exponential(first: float, factor: float, longest: float) -> BackOff:
    def wait(letter: DeadLetterRecord) -> float:
        try:
            return min(first * factor**letter.attempt, longest)
        except OverflowError:
            return longest if first else 0.0

    return wait


def _seconds(text: str, spec: str) -> float:
    if not (found := DURATION.fullmatch(text)):
        raise InvalidBackoffError(UNKNOWN.format(spec[:200]))
    seconds = float(found[1]) * UNITS[found[2]]
    if seconds > LONGEST_S:
        raise InvalidBackoffError(
            f"the back-off {spec!r} waits for more than 366 days: wait for less"
        )
    return seconds
