"""Spark's streaming queries: one life of a query, its sources, and queries without state."""
