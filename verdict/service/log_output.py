"""The log of a process: lines on stderr that cannot steer a terminal."""

import logging

from verdict.wire.control_characters import escape_lines


class EscapingFormatter(logging.Formatter):
    """Escapes what could steer a terminal: ids and messages that others chose."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return escape_lines(super().format(record))


def log_to_stderr() -> None:
    """Write warnings and errors to stderr, from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # librdkafka retries what it only warns about, such as a coordinator that is still loading
    logging.getLogger("verdict.kafka").setLevel(logging.ERROR)
