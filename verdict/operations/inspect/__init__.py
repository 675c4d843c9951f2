"""What happened: histories, flows and states, for the command line and the page."""
