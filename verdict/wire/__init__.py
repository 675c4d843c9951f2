"""Bytes: Avro in Confluent framing with ids of our own, JSON for people, CloudEvents headers."""
