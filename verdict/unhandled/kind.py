"""What can be done about each kind of what waits for a person, and what goes wrong with that."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from verdict.errors import VerdictError

Facts = dict[str, Any]


class By(NamedTuple):
    """Who intervenes, and why."""

    who: str
    why: str | None


class NothingWaits(VerdictError):
    """There is no such item, or not any more."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"nothing waits at {address!r}: `verdict letters list` shows what does; perhaps it "
            "went on meanwhile"
        )


class NothingBehind(VerdictError):
    """Whoever wants all that waits behind an item evicted asks for what is not there."""

    def __init__(self, address: str) -> None:
        super().__init__(f"nothing waits behind {address}: evict it without --all")


class NobodyKept(VerdictError):
    """Whoever accepts that an item waits would let nobody go on."""

    def __init__(self, address: str) -> None:
        super().__init__(f"nobody is kept by {address} while it waits: replay or evict it")


class Unhandled(Protocol):
    """Held aggregates, records at which projections stopped, or parked letters.

    An address is a text that `listed` prints as `id`.
    """

    def knows(self, address: str) -> bool:
        """Tell whether an address is one of this kind, whether something waits there or not."""
        ...

    def listed(self) -> Iterator[Facts]:
        """Yield each item: `id`, `kind`, `since` (ISO 8601), `behind`, `what`, `error`, and more.

        `behind` is how many wait behind it, `what` what it is in a few words.
        """
        ...

    def shown(self, address: str) -> Facts:
        """Return all that is known of an item, with its `payload`.

        Raises:
            NothingWaits: There is none.
        """
        ...

    def edit(self, address: str, document: bytes, by: By) -> str:
        """Put something in the place of what failed, for the next try; say what came of it.

        Raises:
            NothingWaits: There is none.
            VerdictError: It does not fit; nothing is changed.
        """
        ...

    def replay(self, address: str, by: By) -> str:
        """Try it again; say what came of it.

        Raises:
            NothingWaits: There is none.
            VerdictError: It fails again, and waits on.
        """
        ...

    def evict(self, address: str, by: By, all_behind: bool = False) -> str:
        """Give it up, for what waits behind it to go on; say what came of it.

        Raises:
            NothingWaits: There is none.
            VerdictError: `all_behind`, and nothing ever waits behind one of this kind.
        """
        ...

    def accept(self, address: str, by: By) -> str:
        """Let others go on while it waits; say what comes of it.

        Raises:
            NothingWaits: There is none.
            VerdictError: Nobody is kept by one of this kind.
        """
        ...
