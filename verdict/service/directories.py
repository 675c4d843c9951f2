"""Where a process of a deployment works, and whom it keeps out there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verdict.settings.discovery import home_of

BROKER = "broker"
DECIDER = "decider"
WHOLE = "data directory"


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """What a process has for itself.

    Args:
        home: Takes its announcement, and what Spark writes for itself.
        locked: The folders that nobody else may have, and what each is, for people.
        role: As it is typed, of who runs by itself.
    """

    home: Path
    locked: Mapping[Path, str]
    role: str = ""


def require_whole_directory(data_dir: Path, *roles: tuple[str, ...]) -> WorkingDirectory:
    """Return the place of who has a data directory to itself."""
    return WorkingDirectory(data_dir, {data_dir: WHOLE} | _homes(data_dir, roles or ((DECIDER,),)))


def directory_of(data_dir: Path, *roles: tuple[str, ...]) -> WorkingDirectory:
    """Return the place of roles that run by themselves; the first one's is their home."""
    locked = _homes(data_dir, roles)
    return WorkingDirectory(next(iter(locked)), locked, roles[0][0])


def _homes(data_dir: Path, roles: tuple[tuple[str, ...], ...]) -> dict[Path, str]:
    return {home_of(data_dir, *role): f"the folder of role {' '.join(role)}" for role in roles}
