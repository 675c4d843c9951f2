"""Spark, and a shop whose invoices are on topics of its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lake.shop import Shop
from verdict.local.broker import EmbeddedBroker
from verdict.spark.session import spark_session


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session that writes files in which bytes can be searched for."""
    plain = {
        "spark.sql.parquet.compression.codec": "none",
        "spark.hadoop.parquet.enable.dictionary": "false",
    }
    session = spark_session("lake", 1, 1, "512m", tmp_path_factory.mktemp("spark"), extra=plain)
    yield session
    session.stop()


@pytest.fixture
def shop(
    spark: SparkSession, broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Shop]:
    """Return topics of this test alone, and a lake behind them."""
    prefix = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:120] + "."
    shop = Shop(spark, broker.bootstrap_servers, prefix, tmp_path)
    yield shop
    shop.close()
