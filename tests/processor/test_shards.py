"""Each shard gets a partition of its own."""

from pyspark.sql import SparkSession

from verdict.write_side.processor.spark_plan import shard_keys


def test_spark_puts_each_key_on_the_partition_of_its_shard(spark: SparkSession) -> None:
    for shards in (1, 2, 7):
        keys = spark.createDataFrame([(key,) for key in shard_keys(spark, shards)], "key int")

        found = keys.repartition(shards, "key").selectExpr("spark_partition_id() AS it", "key")

        placed = {row.key: row.it for row in found.collect()}
        assert [placed[key] for key in shard_keys(spark, shards)] == [*range(shards)]
