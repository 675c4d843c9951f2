"""Avro schemas derived from classes, their files and ids."""
