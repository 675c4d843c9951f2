"""Commands to outcomes: rules, state, the Spark operator, recovery."""
