"""What a recovered state consists of: its files with their sizes and hashes.

A file that is missing, cut off, altered or another's would let its aggregates begin anew, at
version 0, in silence.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from verdict.errors import ABSENT, VerdictError

SHOWN = 3


class DamagedSeedError(VerdictError):
    """The recovered state that a fresh checkpoint is to begin with is not as it was written."""


def manifest(folder: Path, files: Iterable[Path], **counts: int) -> str:
    """Return what `files` in `folder` are, and how many of what they hold."""
    facts = {str(file.relative_to(folder)): _facts(file) for file in sorted(files)}
    return json.dumps({"files": facts, **counts}, indent=2)


def check_manifest(written: Path, folder: Path, files: Iterable[Path]) -> None:
    """Return when `files` in `folder` are those that were written, byte for byte.

    Raises:
        DamagedSeedError: They are not; names what differs, and what to do.
    """
    found = list(_differences(written, folder, files))
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise DamagedSeedError(
            f"the recovered state in {folder} is not as it was written: "
            f"{'; '.join(found[:SHOWN])}{more}: aggregates would begin at version 0 again; run "
            "`verdict recover` once more"
        )


def _differences(file: Path, folder: Path, files: Iterable[Path]) -> Iterator[str]:
    try:
        written = json.loads(file.read_text())["files"]
    except (*ABSENT, ValueError, TypeError, KeyError) as error:
        yield f"{file.name} does not say what it consists of ({type(error).__name__})"
        return
    there = {str(file.relative_to(folder)): file for file in files}
    for name in sorted(written.keys() | there.keys()):
        if name not in there:
            yield f"{name} is missing"
        elif name not in written:
            yield f"{name} was not written by the recovery"
        elif (size := there[name].stat().st_size) != written[name]["bytes"]:
            yield f"{name} has {size} bytes, and {written[name]['bytes']} were written"
        elif _facts(there[name]) != written[name]:
            yield f"{name} holds other bytes than were written"


def _facts(file: Path) -> dict[str, int | str]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}
