"""Policies, notifications and inbound functions: one Spark query without state."""
