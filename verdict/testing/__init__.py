"""For tests of an application: its rules, read models, policies, all of it in memory or for real.

Nothing here needs a test framework: what is not as expected is an `AssertionError`.
"""

from verdict.model.policy import Asked
from verdict.model.reason import Reason
from verdict.testing.consequences import NeverQuiet
from verdict.testing.given import Given, given
from verdict.testing.histories import Happened, happened
from verdict.testing.in_memory import InMemory
from verdict.testing.log import LogRecord, NoSuchTopic
from verdict.testing.service import Service

__all__ = [
    "Asked",
    "Given",
    "Happened",
    "InMemory",
    "LogRecord",
    "NeverQuiet",
    "NoSuchTopic",
    "Reason",
    "Service",
    "given",
    "happened",
]
