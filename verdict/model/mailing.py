"""What goes by mail each week, to whom, in which words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Written(NamedTuple):
    """What a mail says."""

    subject: str
    text: str


class Receiver(NamedTuple):
    """Of whom a mail is, and the number that it tells, as of the end of a week."""

    client: str
    number: int


Write = Callable[[Receiver, str, str], Written]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailing:
    """A mail for each row that a read model had at the end of a week.

    Args:
        read_model: Its view has a column `client`, which names who gets a mail, once.
        number: Another column of it, whose number the mail may tell.
        write: (receiver, the week such as `2026-W47`, its end in ISO 8601) → the mail; pure.
    """

    read_model: str
    number: str
    write: Write
