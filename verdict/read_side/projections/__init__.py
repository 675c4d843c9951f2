"""Applies declared projections exactly once, in bulk; it knows nothing of Spark or Kafka."""
