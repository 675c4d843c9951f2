"""What came of work on versions, in a sentence for whoever asked for it."""

from verdict.read_side.rebuild.promotion import ComparedVersions
from verdict.read_side.rebuild.version_pair import VersionPair


def built(made: VersionPair) -> str:
    """Say that another version was built."""
    live, other = made.live, made.other
    return f"{live.name} v{other.version} is built beside v{live.version}"


def promoted_message(put: VersionPair, how: str = "now") -> str:
    """Say which version readers see."""
    live, other = put.live, put.other
    return f"readers see {live.name} v{other.version} {how}; v{live.version} is kept"


def compared_message(verified: ComparedVersions) -> str:
    """Say whether two versions hold the same."""
    same = "hold the same" if verified.equal else "differ"
    return f"{verified.projection} v{verified.live} (live) and v{verified.built} {same}"
