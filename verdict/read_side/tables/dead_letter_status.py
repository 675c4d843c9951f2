"""What a letter waits for, and under which name those who take letters in note how far they are."""

from typing import NamedTuple


class _Follower(NamedTuple):
    name: str = "dead-letters"
    version: int = 1


FOLLOWER = _Follower()  # under this name the position in `dead-letters` is kept
WAITING = "WAITING"
PARKED = "PARKED"
