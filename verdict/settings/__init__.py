"""What can be set, where it is set, and whether it can work."""
