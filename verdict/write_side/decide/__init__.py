"""The decision about one command: pure functions, which the Spark query of `decider` calls."""
