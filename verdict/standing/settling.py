"""Waiting until everybody has come as far as there is to go."""

import time
from collections.abc import Iterator

from verdict.configuration.settings import Settings
from verdict.errors import TimedOut
from verdict.standing.asking import standing_of
from verdict.standing.facts import Standing

PAUSE_S = 0.1


def until_settled(settings: Settings, patience_s: float = 120.0) -> Iterator[Standing]:
    """Look until all that was sent is decided, what follows from it too, and every table has it.

    For tests and scripts beside a running service; it ends after the look that finds so.

        for look in until_settled(load_settings(app)):
            print(f"{look.lag} records behind")

    Args:
        settings: As for `standing_of`.
        patience_s: For so many seconds nothing may move.

    Yields:
        Each look.

    Raises:
        TimedOut: Nothing moved; says what is stopped.
        VerdictError: The service's own announcement is damaged.
    """
    before, now = None, standing_of(settings)
    moved = time.monotonic()
    while True:
        yield now
        if is_settled(before, now):
            return
        if before is None or reached(before) != reached(now):
            moved = time.monotonic()
        elif time.monotonic() - moved > patience_s:
            raise TimedOut(
                f"nothing moved for {patience_s:g} s, {now.lag} records behind"
                + "".join(f"; {one}" for one in now.problems)
            )
        time.sleep(PAUSE_S)
        before, now = now, standing_of(settings)


def reached(found: Standing) -> tuple[object, ...]:
    """Return how far everybody has come."""
    return found.commands, found.processors, found.projections, found.letters


def is_settled(before: Standing | None, now: Standing) -> bool:
    """Tell whether there is nothing left to do, by two looks one after the other.

    One is not enough: a look asks one after the other, and what follows from the last records,
    such as the command of a policy, may come behind its back.
    """
    return before is not None and now.lag == 0 and reached(before) == reached(now)
