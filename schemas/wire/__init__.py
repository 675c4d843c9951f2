"""Bytes: Confluent framing around Avro with ids of our own, JSON for people, CloudEvents headers."""
