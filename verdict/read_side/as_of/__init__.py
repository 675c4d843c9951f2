"""A read model as it was at one position, as records that others can load."""
