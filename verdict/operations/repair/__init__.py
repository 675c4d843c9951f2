"""What could not be handled and waits for a person: looked at, mended, tried again, given up."""
