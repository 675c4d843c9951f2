"""Who intervenes in a deployment, and why."""

from typing import NamedTuple


class By(NamedTuple):
    """An operator, and the reason, if there is one."""

    who: str
    why: str | None
