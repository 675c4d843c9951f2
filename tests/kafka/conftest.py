"""Events on topics of a test, for who reads them."""

from tests.event_log.conftest import followable

__all__ = ["followable"]
