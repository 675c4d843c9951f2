"""The command line: one module per verb, loaded when it is called."""
