"""For tests of an application: its rules, read models, policies, all of it in memory or for real.

Nothing here needs a test framework: what is not as expected is an `AssertionError`.
"""

from verdict.model.policy import Dispatch
from verdict.model.reason import Reason
from verdict.testing.cascade import EndlessCascadeError
from verdict.testing.given import Given, given
from verdict.testing.histories import GivenHistory, happened
from verdict.testing.in_memory import InMemory
from verdict.testing.log import LogRecord, TopicNotFoundError
from verdict.testing.service import Service

__all__ = [
    "Dispatch",
    "EndlessCascadeError",
    "Given",
    "GivenHistory",
    "InMemory",
    "LogRecord",
    "Reason",
    "Service",
    "TopicNotFoundError",
    "given",
    "happened",
]
