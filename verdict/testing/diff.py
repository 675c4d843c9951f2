"""What a failed test says: what was given, what was asked, and what came instead, as a diff."""

from collections.abc import Iterable, Sequence
from difflib import ndiff

from verdict.write_side.decide.record import StoredEvent


def difference(
    what: str,
    given: Iterable[str],
    asked: Iterable[str],
    expected: Sequence[str],
    came: Sequence[str],
) -> AssertionError:
    """Return the error of a test whose expectation does not hold."""
    difference = [line.rstrip("\n") for line in ndiff([*expected], [*came])]
    lines = [
        f"{what} (- expected, + came)",
        *_part("given", given),
        *_part("when", asked),
        *_part("then", difference or ["(nothing)"]),
    ]
    return AssertionError("\n".join(lines))


def told(history: Iterable[StoredEvent]) -> list[str]:
    """Return what happened, a line for each event."""
    return [
        f"{one.event.aggregate_type} {one.event.aggregate_id!r} v{one.event.version}: "
        f"{one.event.payload!r}"
        for one in history
    ]


def _part(name: str, lines: Iterable[str]) -> list[str]:
    return [name, *(f"  {line}" for line in [*lines] or ["(nothing)"])]
