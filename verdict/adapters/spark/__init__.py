"""Spark: its session, its queries, and its failures in words."""
