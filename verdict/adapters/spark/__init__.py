"""Spark: its session, its queries, and readable errors."""
