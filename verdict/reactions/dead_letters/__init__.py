"""Letters: dead letters that go back to where they can be handled, when it is time."""
