"""How settings are written where there is only text, or only tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from compose.mailing.server import parse_server


def dotted(value: Any) -> Any:
    """Return a table of tables, as TOML reads `kafka.ssl.ca.location = …`, as one option."""
    return dict(_flat(value)) if isinstance(value, dict) else value


def listed(value: Any) -> Any:
    """Return `a, b` or `["a", "b"]`, as either is written in an environment variable, as a tuple.

    Raises:
        ValueError: It begins as JSON and is none.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return from_json(value)
        except ValueError as error:
            raise ValueError(f"begins as a JSON list and is none, {error}: write a, b") from error
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def mail_server_url(value: str) -> str:
    """Return a URL of a mail server that can be one.

    Raises:
        ValueError: It cannot.
    """
    parse_server(value)
    return value


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
