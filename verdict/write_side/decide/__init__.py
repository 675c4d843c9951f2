"""What is decided about one command, and on which grounds. Pure."""
