"""What `make bench` measures; see `benchmarks.__main__`."""
