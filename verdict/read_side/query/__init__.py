"""Which views there are, and how a reader waits for one."""
