"""`POST /commands/…`: sends a command and returns its outcome.

The page only checks that the decider can read the command, and that the record has a key. It keeps
no record of a request that it refuses. The decider makes all other checks, and records them.
"""

import json
from asyncio import Lock
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response, Security
from pydantic import ValidationError
from uuid_utils import uuid7

from verdict.client.async_client import AsyncClient
from verdict.client.errors import (
    CommandTooLargeError,
    NotDeliveredError,
    OutcomeUnknownError,
    SendFailedError,
)
from verdict.http.auth import TOKEN, bearer, require_token
from verdict.http.bodies import CommandResponse, NoOutcome
from verdict.http.responses import Described, JsonLine, error_type, problem, problems
from verdict.http.site import Context
from verdict.model.command_envelope import aggregate_id_rule, command_id_rule
from verdict.model.reason import Reason
from verdict.operations.inspect.aggregate import NotFoundError
from verdict.settings.discovery import kafka_options
from verdict.settings.settings import Settings
from verdict.wire.commands import read_json_to_send
from verdict.wire.json import readable
from verdict.wire.response import Response as Outcome

WAIT_S, MOST_WAIT_S = 10.0, 120.0
UNPROCESSABLE = 422
STATUS = {
    None: HTTPStatus.OK,
    Reason.VERSION_CONFLICT: HTTPStatus.CONFLICT,
    Reason.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    Reason.COMMAND_ID_REUSED: HTTPStatus.CONFLICT,
    Reason.QUARANTINED: HTTPStatus.CONFLICT,
    Reason.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Reason.DELETED: HTTPStatus.GONE,
    Reason.TOO_LARGE: 413,
    Reason.HANDLER_ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
}
OUTCOMES = {  # the body is the outcome
    200: "Accepted.",
    201: "Accepted, and the aggregate exists since then.",
    404: "NOT_FOUND; or, as a problem: there is no such type of aggregates.",
    409: "VERSION_CONFLICT, ALREADY_EXISTS (see `actual_version`), COMMAND_ID_REUSED, QUARANTINED.",
    410: "DELETED.",
    413: "TOO_LARGE; or, as a problem: the command has too many bytes.",
    422: "BUSINESS_RULE, INVALID_COMMAND and others; or, as a problem: it is no command.",
    500: "HANDLER_ERROR: a bug in the rules.",
}
PROBLEMS = problems(401, 404, 413, 422, 503)
ANSWERS: Described = PROBLEMS | {
    202: {"model": NoOutcome, "description": "No outcome in time: send it again with its id."},
    **{
        status: PROBLEMS.get(status, {}) | {"model": CommandResponse, "description": meaning}
        for status, meaning in OUTCOMES.items()
    },
}

Wait = Annotated[float, Query(ge=0, le=MOST_WAIT_S, description="Seconds for the outcome.")]
router = APIRouter(tags=["commands"])


class CommandSender:
    """Sends the commands of all requests, by one client."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._connecting = Lock()
        self._options: Mapping[str, object] = {}

    async def connected(self) -> AsyncClient:
        """Return a client of the current Kafka: an embedded one has another port at each start.

        Raises:
            UnreachableError: No service names its Kafka.
        """
        options = dict(kafka_options(self._settings))
        async with self._connecting:  # else two requests would make a client each
            if self._client is None or options != self._options:
                await self.close()
                self._options = dict(options)
                servers = options.pop("bootstrap.servers")
                limit = self._settings.max_command_bytes
                self._client = AsyncClient(
                    self._settings.application, servers, self._settings.topics, options, limit
                )
            return self._client

    async def close(self) -> None:
        """Close the client."""
        former, self._client = self._client, None
        if former is not None:
            with suppress(NotDeliveredError):  # the sender got this error already
                await former.close()


@router.post("/commands/{aggregate}", dependencies=[Security(TOKEN)], responses=ANSWERS)
async def send_command(context: Context, aggregate: str, wait_s: Wait = WAIT_S) -> Response:
    """Send a command to an aggregate; needs the token."""
    require_token(bearer(context.request), context.settings)
    if aggregate not in (kinds := context.application.aggregate_types):
        raise NotFoundError(
            f"there is no aggregate type {aggregate!r}: there are {', '.join(kinds)}"
        )
    body = await context.body(context.settings.max_command_bytes)
    try:
        aggregate_id, command_id, value = sendable(body)
    except ValueError as error:
        return problem(UNPROCESSABLE, str(error))
    sender: CommandSender = context.request.app.state.sender
    client = await sender.connected()
    try:
        outcome = await client.send_encoded(
            aggregate, aggregate_id, command_id, value, timeout_s=wait_s
        )
    except OutcomeUnknownError as error:
        unknown = {"command_id": command_id, "status": "UNKNOWN", "message": str(error)}
        return JsonLine(unknown, 202)
    except SendFailedError as error:
        status = 413 if isinstance(error, CommandTooLargeError) else 503
        return problem(status, str(error), error_type(error), {"command_id": command_id})
    return JsonLine(readable(outcome), status_of(outcome))


def status_of(outcome: Outcome) -> int:
    """Return the status of a response with this outcome."""
    if outcome.reason is None and outcome.from_version == 0 and outcome.to_version:
        return HTTPStatus.CREATED
    return STATUS.get(outcome.reason, UNPROCESSABLE)


def sendable(body: bytes) -> tuple[str, str, bytes]:
    """Return an envelope's aggregate id and command id, and its bytes, with a command id added.

    Raises:
        ValueError: It is no envelope.
    """
    body = body.strip()
    sent = read_json_to_send(body)
    if not isinstance(sent.get("payload"), dict):
        raise ValueError("send an object with aggregate_id, expected_version and payload")
    try:
        aggregate_id = aggregate_id_rule.validate_python(sent.get("aggregate_id"), strict=True)
        if sent.get("command_id") is not None:
            command_id = command_id_rule.validate_python(sent["command_id"])
            return aggregate_id, command_id, body
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        raise ValueError(f"aggregate_id or command_id: {first['msg']}") from None
    command_id = str(uuid7())
    with_id = sent | {"command_id": command_id}
    return aggregate_id, command_id, json.dumps(with_id, ensure_ascii=False).encode()
