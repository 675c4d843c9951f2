"""A shop whose invoices are on topics of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.deployment import name_of
from tests.lake.shop import Shop
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def shop(
    spark: SparkSession, broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Shop]:
    """Return topics of this test alone, and a lake behind them."""
    shop = Shop(spark, broker.bootstrap_servers, f"{name_of(request)}.", tmp_path)
    yield shop
    shop.close()
