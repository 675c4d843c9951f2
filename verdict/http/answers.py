"""JSON as the verbs print it."""

from typing import Any

from fastapi.responses import JSONResponse

from verdict.wire.json_lines import json_line


class JsonAnswer(JSONResponse):
    """A value as one line of JSON."""

    def render(self, content: Any) -> bytes:
        """Return the line; bytes become base64."""
        return json_line(content) + b"\n"
