"""Observing and repairing a deployment."""
