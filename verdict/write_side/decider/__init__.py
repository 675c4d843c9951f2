"""The decider: one Spark query that gives every command its verdict."""
