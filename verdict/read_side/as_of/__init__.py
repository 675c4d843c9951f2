"""A projection as it was at one position, as records that others can load."""
