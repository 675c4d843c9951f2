"""What is wrong with Spark's own files."""

from verdict.errors import VerdictError


class DamagedCheckpointError(VerdictError):
    """A file of Spark's checkpoint is missing, cut off or of an unknown kind."""
