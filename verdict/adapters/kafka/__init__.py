"""Kafka outside of the decider's transactions: topics, records, offsets."""
