"""Kafka from outside of its transactions: topics, settings, what lies there."""
