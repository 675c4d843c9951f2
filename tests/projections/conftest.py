"""The read side of a test, and an event log in memory, as the engine's own tests have them."""

from tests.read_side.conftest import log, read_side

__all__ = ["log", "read_side"]
