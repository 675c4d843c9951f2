"""How verdict reads the log, runs a Spark query and publishes exactly once."""
