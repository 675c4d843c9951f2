"""Why a query must stop rather than publish."""

from verdict.errors import VerdictError


class Misfit(VerdictError):
    """A checkpoint or batch does not continue where the marker ends."""


class TakenOver(VerdictError):
    """Another process owns the query now; this one must not go on."""


class ReplayDiffers(VerdictError):
    """A batch that is already published was computed again, with another output."""


class ForeignState(Misfit):
    """The state that a batch was decided with is not the one that the marker speaks of."""


class DamagedCheckpoint(VerdictError):
    """A file of Spark's checkpoint is missing, cut off or of an unknown kind."""


class NotPublished(VerdictError):
    """Kafka did not confirm a transaction, not when it was repeated either; the marker tells."""


class UnreadableMarker(VerdictError):
    """What lies in the place of a query's marker is none."""
