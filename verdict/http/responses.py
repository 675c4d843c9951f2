"""Responses to programs: JSON as the verbs print it, and errors as problem details (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from verdict.model.message import JsonObject
from verdict.wire.json_lines import json_line

MEDIA_TYPE = "application/problem+json"
BLANK = "about:blank"  # the status says all about the error
NOTHING: Mapping[str, object] = {}
Described = dict[int | str, JsonObject]  # status → a response of OpenAPI
ERROR = "urn:verdict:error:"
REFERENCE = "#/components/schemas/"
MEANINGS = {
    400: "The request is wrong; `detail` says why.",
    401: "The request needs `Authorization: Bearer` with the setting page_token.",
    403: "A page of another site made the request, or its sender may not see this.",
    404: "Nothing has this name or id.",
    413: "The body is longer than it may be.",
    421: "The Host header is not a name of this page; see the setting allowed_hosts.",
    422: "A parameter or the body does not have the described form.",
    500: "The request met a bug; see the log of the page.",
    503: "Kafka or the database cannot be reached, or too many requests are open.",
}


class JsonLine(JSONResponse):
    """A value as one line of JSON; bytes become base64."""

    def render(self, content: Any) -> bytes:
        """Return the line."""
        return json_line(content) + b"\n"


class WrongParameter(BaseModel):
    """A parameter that does not have the described form."""

    loc: list[str | int] = Field(
        description="Where it is: `query`, `path` or `header`; then its name."
    )
    msg: str = Field(description="What is wrong with it.")
    type: str = Field(description="The kind of mistake.")


class ProblemDetails(BaseModel):
    """An error, as RFC 9457 describes it; there may be more members."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(
        description=f"`{ERROR}NAME` with a name of the catalogue of errors, or `{BLANK}`."
    )
    title: str = Field(description="What the status means.")
    status: int = Field(description="The status of HTTP.")
    detail: str = Field(description="What happened, to what, and what to do next.")
    errors: list[WrongParameter] | None = Field(
        None, description="What is wrong with the parameters."
    )
    command_id: str | None = Field(
        None, description="Of the command that the error is about: send it again with this id."
    )


class ProblemJson(JsonLine):
    """A problem as one line of JSON."""

    media_type = MEDIA_TYPE


def problem(
    status: int,
    detail: str,
    type: str = BLANK,
    members: Mapping[str, object] = NOTHING,
    headers: Mapping[str, str] | None = None,
) -> ProblemJson:
    """Return an error."""
    about = {"type": type, "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return ProblemJson({**about, **members}, status, headers)


def error_type(error: Exception) -> str:
    """Return the URI of a kind of errors, by its name in the catalogue."""
    return f"{ERROR}{type(error).__name__}"


def problems(*statuses: int) -> Described:
    """Describe the responses with a problem for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{REFERENCE}{ProblemDetails.__name__}"}}}
    return {status: {"description": MEANINGS[status], "content": content} for status in statuses}
