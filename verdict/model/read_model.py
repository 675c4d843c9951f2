"""What a read model is to its application: a name, a key, and a projection for each version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def no_settings(words: str) -> Mapping[str, object]:
    """Read nothing of what tables say that they were built with."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadModel:
    """A read model, as an application declares it.

    Args:
        name: Of the read model, and of the view that shows it.
        key: The columns of that view that tell its rows apart.
        at: Version, by that name, and `settings` → the projection; its tables carry the version.
        settings: The application's settings that it depends on: `at` takes them by their names,
            and has defaults for them.
        built_with: What a projection says of its settings, in words → these settings again.
    """

    name: str
    key: tuple[str, ...]
    at: Callable[..., Any]  # its kinds are on a floor above
    settings: tuple[str, ...] = ()
    built_with: Callable[[str], Mapping[str, object]] = no_settings
