"""Brings projections that are far behind to where the others are, which do not wait for them."""
