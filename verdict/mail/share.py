"""Which worker a client falls to, without anybody who hands out the work."""

import re
from dataclasses import dataclass
from hashlib import sha256

SHARE = re.compile(r"(\d{1,6})/(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Share:
    """What worker `number` of `of` does, counted from 1."""

    number: int
    of: int

    def has(self, bucket: int) -> bool:
        """Tell whether the clients of a bucket are in it."""
        return bucket % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parse_share(text: str) -> Share:
    """Read a share such as `1/3`.

    Raises:
        ValueError: It is none.
    """
    found = SHARE.fullmatch(text)
    share = Share(int(found[1]), int(found[2])) if found else Share(0, 0)
    if not 1 <= share.number <= share.of:
        raise ValueError(f"{text!r} is no share such as 1/3, the first of three")
    return share


def bucket_of(client: str) -> int:
    """Return a number below 2**32 that is the client's on every machine and for ever."""
    return int.from_bytes(sha256(client.encode()).digest()[:4])
