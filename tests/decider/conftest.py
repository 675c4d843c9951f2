"""Spark with one slot, as the read side's tests have it."""

from tests.read_models.conftest import spark

__all__ = ["spark"]
