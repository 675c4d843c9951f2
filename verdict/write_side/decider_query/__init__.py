"""The running Spark query of the role `decider` and its data; `decide` has the decision itself."""
