"""JSON as the verbs print it."""

from typing import Any

from fastapi import Response

from verdict.wire.json_lines import json_line


class Json(Response):
    """A value as one line of JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the line; bytes become base64."""
        return json_line(content) + b"\n"
