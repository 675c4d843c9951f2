"""The state of a shard: a log in Spark's store, with a copy in LMDB."""
