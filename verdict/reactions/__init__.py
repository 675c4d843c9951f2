"""What follows from events: policies, the lake, dead letters, messages for others."""
