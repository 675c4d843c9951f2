"""Records that another system writes to a topic of its own, and that become commands."""

from collections.abc import Callable
from dataclasses import dataclass

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source


class NoCommandError(ValueError):
    """No command can ever be made of a record; the message tells people why.

    It is kept with the record and shown to who looks after letters, so it names fields, not what
    they hold.
    """


@dataclass(frozen=True, slots=True)
class Inbound:
    """Whenever another system writes there, that is asked for.

    Args:
        name: Of it, for people.
        topic: Where the others write, without the prefix of a deployment.
        aggregate_type: To which the commands are addressed.
        command_of: (value, its place) → the command, the same each time: a command id that follows
            from the place makes one command of a record however often it is read; pure. It raises
            `NoCommandError` for what will never be one.
    """

    name: str
    topic: str
    aggregate_type: str
    command_of: Callable[[bytes, Source], tuple[CommandEnvelope, Command]]
