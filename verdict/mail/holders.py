"""Who holds US stock at the cut-off of a week: as it was then, not as it is now."""

from collections.abc import Iterator
from contextlib import contextmanager

from verdict.as_of.materialiser import Materialiser
from verdict.as_of.moment import AsOf
from verdict.configuration.settings import Settings
from verdict.mail.outbox import Holder
from verdict.mail.week import Week


@contextmanager
def holders_at(settings: Settings, week: Week) -> Iterator[Iterator[Holder]]:
    """Give the holders at a week's cut-off; what was decided at that very moment is after it.

    Args:
        settings: Those of the service, which runs or not.
        week: That is over.

    Raises:
        VerdictError: It cannot be told, such as when commands of that time are not decided yet.
        Unreachable: Kafka does not answer.
    """
    last = AsOf(millis=week.cut_off - 1)
    with Materialiser(settings, "us_holder").content(last) as content:
        yield (Holder(row["client"], row["positions"]) for row in content.values())
