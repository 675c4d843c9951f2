"""Avro: the engine's schema files, and compiled readers and writers."""
