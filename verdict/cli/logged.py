"""What is logged while a verb runs: the message alone, for a person who has asked for something.

A service, which has a handler of its own, keeps the tracebacks of what rules raise.
"""

import logging

from verdict.wire.terminal import escape_lines


class MessageAlone(logging.Formatter):
    """Leaves out the traceback of what a message is about: with one of our own a verb ends."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message, with what would steer a terminal spelled out."""
        return escape_lines(record.getMessage())


def log_messages_only() -> None:
    """Let who has no handler say messages alone on stderr."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MessageAlone())
