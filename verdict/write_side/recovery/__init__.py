"""Rebuilding the decider's state from the events and responses in Kafka."""
