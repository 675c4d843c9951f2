"""Tests of an application: its rules, projections and policies, in memory or as a service.

This needs no test framework: an expectation that does not hold is an `AssertionError`.
"""

from verdict.testing.cascade import EndlessCascadeError
from verdict.testing.given import Given, GivenHistory, given, happened
from verdict.testing.in_memory import InMemory
from verdict.testing.memory_log import LogRecord, TopicNotFoundError
from verdict.testing.service import Service

__all__ = [
    "EndlessCascadeError", "Given", "GivenHistory", "InMemory", "LogRecord", "Service",
    "TopicNotFoundError", "given", "happened",
]  # fmt: skip
