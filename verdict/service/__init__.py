"""Everything that runs in one process, and what it says of itself."""
