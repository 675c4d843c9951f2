"""A projection built again beside the one that readers see, compared with it, and put in place."""
