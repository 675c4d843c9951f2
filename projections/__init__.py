"""Projections: tables and outbound topics that follow from events."""
