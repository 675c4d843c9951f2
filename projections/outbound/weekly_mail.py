"""Whoever held US stock at the end of a week is told how many positions."""

from verdict import Mailing, Receiver, Written

TEXT = """\
Dear {client},

at the end of week {week} ({end}) you held {positions} on US exchanges.
"""


def write(receiver: Receiver, week: str, end: str) -> Written:
    """Return what a holder reads."""
    count = receiver.number
    return Written(
        subject=f"Your US positions at the end of {week}",
        text=TEXT.format(
            client=receiver.client,
            week=week,
            end=end,
            positions="1 position" if count == 1 else f"{count} positions",
        ),
    )


weekly_mail = Mailing(read_model="us_holder", number="positions", write=write)
