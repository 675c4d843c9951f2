"""What follows from what happened: pure functions from an event to commands."""
