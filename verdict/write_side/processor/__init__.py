"""The rules on Spark: one state per shard, every aggregate strictly in order."""
