"""Who intervenes in a deployment, and why."""

from typing import NamedTuple


class OperatorIdentity(NamedTuple):
    """An operator, and the reason, if there is one."""

    operator: str
    reason: str | None
