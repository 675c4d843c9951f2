"""Why a projection cannot be built, compared or put in place."""

from verdict.errors import VerdictError
from verdict.read_side.projections.projection import Projection


class NotBuiltError(VerdictError):
    """There is no whole version besides the one that readers see."""

    def __init__(self, name: str, live: int) -> None:
        super().__init__(
            f"projection {name} has no whole version besides v{live}, which readers see: build one "
            f"with `verdict projection rebuild {name}`"
        )


class ConcurrentBuildError(VerdictError):
    """Somebody else builds the same version of a projection."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(
            f"another process builds {name} v{version} from the start, on another host or with "
            "another data directory: what was built here is gone; let that process finish"
        )


class BuildStoppedError(VerdictError):
    """The version that is brought forward failed at a record."""

    def __init__(self, projection: Projection, error: str) -> None:
        name = projection.name
        # only others write a state again, and a key waits for that
        fix = "the projection" if projection.waits_for_events else "what writes its topic"
        super().__init__(
            f"projection {name} v{projection.version} stopped: {error}; readers see what they "
            f"saw: fix {fix}, then build it again with `verdict projection rebuild {name}`"
        )


class NotAlignedError(VerdictError):
    """The live version is behind the other one, and does not move."""

    def __init__(self, name: str, behind: int) -> None:
        super().__init__(
            f"the version of {name} that readers see is {behind} offsets behind the one that was "
            "built, and does not move: start `verdict up`, see `verdict status`, then try again"
        )


class NotComparableError(VerdictError):
    """The version that readers see is stopped, and the other one is ahead of it."""

    def __init__(self, name: str, live: int, other: int) -> None:
        super().__init__(
            f"projection {name} v{live}, which readers see, is stopped, and v{other} is ahead of "
            "it: they cannot be compared at one position; fix what stopped it (`verdict status`) "
            "and start again, or let readers see the other one as it is: `verdict projection "
            f"promote {name} --accept-differences`"
        )


class DifferentSettingsError(VerdictError):
    """A version that is to be written to was built with other settings than are set here."""

    def __init__(self, projection: Projection, found: str) -> None:
        super().__init__(
            f"projection {projection.name} v{projection.version} was built with {found!r}, and "
            f"{projection.settings!r} is set where you type this: set what it was built with, then "
            "try again; readers see what they saw"
        )


class ViewsReadError(VerdictError):
    """Somebody reads from the projection's views or tables, and does not come to an end."""

    def __init__(self, name: str, patience_s: int) -> None:
        super().__init__(
            f"the views of {name} cannot be replaced: somebody has been reading from them, or from "
            f"a table behind them, for more than {patience_s} s, in a transaction that is still "
            "open; readers see what they saw: try again, or end that one (pg_stat_activity names "
            "it; a backup is one, too)"
        )


class VersionsDifferError(VerdictError):
    """Live and built version do not hold the same."""

    def __init__(self, name: str, rows: int, first: str) -> None:
        super().__init__(
            f"the versions of {name} differ in {rows} rows or more, the first: {first}; readers "
            "see what they saw: see all with `verdict projection verify`, fix the projection and "
            "build it again, or promote with --accept-differences when the new one is right"
        )


class ViewsInUseError(VerdictError):
    """A view of the projection cannot be replaced."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(
            f"the views of {name} cannot be replaced: {said}; readers see what they saw: drop what "
            "depends on them, try again, then create it again"
        )
