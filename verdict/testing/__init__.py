"""For tests of an application: its rules, read models and policies, and all of it in memory.

Nothing here needs a test framework: what is not as expected is an `AssertionError`.
"""

from verdict.model.policy import Asked
from verdict.model.reason import Reason
from verdict.testing.given import Given, given
from verdict.testing.histories import Happened, happened
from verdict.testing.in_memory import InMemory
from verdict.testing.log import LogRecord

__all__ = ["Asked", "Given", "Happened", "InMemory", "LogRecord", "Reason", "given", "happened"]
