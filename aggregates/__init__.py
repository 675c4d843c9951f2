"""The rules: pure `decide` and `evolve` per aggregate, and the operator that runs them on Spark."""
