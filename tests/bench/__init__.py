"""What `make bench` measures; see `tests.bench.__main__`."""
