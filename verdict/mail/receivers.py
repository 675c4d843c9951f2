"""Who gets a mail: as it was at the cut-off of a week, not as it is now."""

from collections.abc import Iterator
from contextlib import contextmanager

from verdict.configuration.settings import Settings
from verdict.mail.week import Week
from verdict.model.mailing import Mailing, Receiver
from verdict.read_models.as_of.materialiser import Materialiser
from verdict.read_models.as_of.moment import AsOf


@contextmanager
def receivers_at(settings: Settings, mailing: Mailing, week: Week) -> Iterator[Iterator[Receiver]]:
    """Give the receivers at a week's cut-off; what was decided at that very moment is after it.

    Args:
        settings: Those of the service, which runs or not.
        mailing: What goes out.
        week: That is over.

    Raises:
        VerdictError: It cannot be told, such as when commands of that time are not decided yet.
        Unreachable: Kafka does not answer.
    """
    last = AsOf(millis=week.cut_off - 1)
    with Materialiser(settings, mailing.read_model).content(last) as content:
        yield (Receiver(row["client"], row[mailing.number]) for row in content.values())
