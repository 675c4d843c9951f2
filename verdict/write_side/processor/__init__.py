"""The stateful operator of Spark: a shard's commands in, records to publish out."""
