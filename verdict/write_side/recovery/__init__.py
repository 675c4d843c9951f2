"""Rebuilds the decider's state from the events and responses in Kafka and the archive."""
