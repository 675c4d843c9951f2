"""The audit: do events, outcomes, archive, state and projections still hold together?"""
