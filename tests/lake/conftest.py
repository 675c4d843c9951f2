"""A shop whose invoices are on topics of its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lake.shop import Shop
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def shop(
    spark: SparkSession, broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Shop]:
    """Return topics of this test alone, and a lake behind them."""
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:120] + "."
    shop = Shop(spark, broker.bootstrap_servers, prefix, tmp_path)
    yield shop
    shop.close()
