"""Applies batches of events to the tables of a projection, exactly once."""
