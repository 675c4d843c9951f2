"""Repairs by an operator: blocked aggregates, stopping records, dead letters and topics."""
