"""Waiting until everybody has come as far as there is to go."""

import time
from collections.abc import Iterator

from verdict.errors import TimedOutError
from verdict.operations.status.collect import get_status
from verdict.operations.status.status import StatusReport
from verdict.settings.settings import Settings

PAUSE_S = 0.1


def wait_until_idle(settings: Settings, patience_s: float = 120.0) -> Iterator[StatusReport]:
    """Look until all that was sent is decided, what follows from it too, and every table has it.

    For tests and scripts beside a running service; it ends after the look that finds so.

        for look in wait_until_idle(load_settings(app)):
            print(f"{look.lag} records behind")

    Args:
        settings: As for `get_status`.
        patience_s: For so many seconds nothing may move.

    Yields:
        Each look.

    Raises:
        TimedOutError: Nothing moved; says what is stopped.
        VerdictError: The service's own announcement is damaged.
    """
    before, now = None, get_status(settings)
    moved = time.monotonic()
    while True:
        yield now
        if is_settled(before, now):
            return
        if before is None or has_reached(before) != has_reached(now):
            moved = time.monotonic()
        elif time.monotonic() - moved > patience_s:
            raise TimedOutError(
                f"nothing moved for {patience_s:g} s, {now.lag} records behind"
                + "".join(f"; {one}" for one in now.problems)
            )
        time.sleep(PAUSE_S)
        before, now = now, get_status(settings)


def has_reached(found: StatusReport) -> tuple[object, ...]:
    """Return how far everybody has come."""
    return found.commands, found.processors, found.projections, found.dead_letters


def is_settled(before: StatusReport | None, now: StatusReport) -> bool:
    """Tell whether there is nothing left to do, by two looks one after the other.

    One is not enough: a look asks one after the other, and what follows from the last records,
    such as the command of a policy, may come behind its back.
    """
    return before is not None and now.lag == 0 and has_reached(before) == has_reached(now)
