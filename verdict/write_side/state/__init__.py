"""The state of a shard: a log and pages in Spark's state store, and a local copy for reads."""
