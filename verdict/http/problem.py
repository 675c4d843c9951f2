"""Errors as programs get them: problem details, by RFC 9457."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from verdict.http.answers import JsonAnswer

MEDIA_TYPE = "application/problem+json"
BLANK = "about:blank"  # an error that its status says all about
NOTHING: Mapping[str, Any] = {}
ERROR = "urn:verdict:error:"
REFERENCE = "#/components/schemas/"
MEANINGS = {
    400: "The request cannot be answered as it was made; `detail` says why.",
    401: "The request needs `Authorization: Bearer` with the setting page_token.",
    403: "A page of another site made the request, or its sender may not see this.",
    404: "Nothing is known under this name or id.",
    413: "The body is longer than a command may be.",
    421: "The Host header is not a name of this page; see the setting allowed_hosts.",
    422: "A parameter or the body does not have the form that is described here.",
    500: "The request met a bug; the log of the page has more.",
    503: "Kafka or the database cannot be reached, or too many requests are open.",
}


class WrongParameter(BaseModel):
    """A part of a request that does not have the form that is described."""

    loc: list[str | int] = Field(description="Where it is: `query`, `path` or `header`; its name.")
    msg: str = Field(description="What is wrong with it.")
    type: str = Field(description="The kind of mistake, as a word for programs.")


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


class NotLive(ProblemDetails):
    """The process runs, and its service gives no sign of life."""

    live: bool
    silent_s: float = Field(description="Seconds since the last sign of life.")


class NotReady(ProblemDetails):
    """No commands are decided."""

    ready: bool
    why: list[str] = Field(description="Why not, one reason each.")


class ProblemJson(JsonAnswer):
    """A problem as one line of JSON."""

    media_type = MEDIA_TYPE


def problem(
    status: int,
    detail: str,
    type: str = BLANK,
    members: Mapping[str, Any] = NOTHING,
    headers: Mapping[str, str] | None = None,
) -> ProblemJson:
    """Return the answer that tells a program of an error."""
    about = {"type": type, "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return ProblemJson({**about, **members}, status, headers)


def error_type(error: Exception) -> str:
    """Return the URI of the kind of an error, by its name in the catalogue of errors."""
    return f"{ERROR}{type(error).__name__}"


def problems(
    *statuses: int, model: type[ProblemDetails] = ProblemDetails
) -> dict[int | str, dict[str, Any]]:
    """Return for OpenAPI that these statuses are answered with a problem."""
    schema = {"$ref": f"{REFERENCE}{model.__name__}"}
    return {
        status: {
            "description": MEANINGS[status],
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }
