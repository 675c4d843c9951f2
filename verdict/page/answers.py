"""JSON as the verbs print it, and errors by their names in docs/reference/errors.md."""

from typing import Any

from fastapi import Response

from verdict.wire.json_lines import json_line


class Json(Response):
    """A value as one line of JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the line; bytes become base64."""
        return json_line(content) + b"\n"


def failed(error: Exception) -> dict[str, str]:
    """Return what a program is told of an error: what it is called, and what it says."""
    return {"type": type(error).__name__, "error": str(error)}
