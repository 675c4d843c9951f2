"""An operator who intervenes, and what is shown to them of what needs attention."""

from typing import NamedTuple

from verdict.errors import VerdictError


class OperatorIdentity(NamedTuple):
    """An operator, and the reason, if there is one."""

    operator: str
    reason: str | None


class NothingWaitsError(VerdictError):
    """There is no such item, or not any more."""

    def __init__(
        self, address: str, advice: str = "`verdict blocked list` shows what is blocked"
    ) -> None:
        super().__init__(f"nothing waits at {address!r}, perhaps not any more: {advice}")
