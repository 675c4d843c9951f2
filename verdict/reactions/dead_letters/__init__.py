"""Dead letters: stored, sent back to a topic when they are due, or parked for an operator."""
