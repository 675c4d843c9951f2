"""`POST /commands/…`: sends a command and answers with its outcome.

It is checked here that the decider can read the command, and that the record has a key. The decider
answers everything else: what it refuses is on the topic of rejections and in the views, and what is
refused here is nowhere.
"""

import json
from asyncio import Lock
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import reduce
from http import HTTPStatus
from operator import or_
from typing import Annotated, Any, Literal, cast

from fastapi import FastAPI, Query, Request, Response
from pydantic import ValidationError, create_model
from uuid_utils import uuid7

from verdict.application import current
from verdict.client.async_client import AsyncClient
from verdict.client.errors import NotDelivered, OutcomeUnknown, SendingFailed, TooLarge
from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.model.command_envelope import (
    CommandEnvelope,
    CommandId,
    aggregate_id_rule,
    command_id_rule,
)
from verdict.model.reason import Reason
from verdict.page.answers import Json, failed
from verdict.page.door import read, see_that_may_write
from verdict.wire.commands import read_json_to_send
from verdict.wire.readable import readable
from verdict.wire.response import Response as Outcome

WAIT_S, MOST_WAIT_S = 10.0, 120.0
UNPROCESSABLE = 422
STATUS = {
    None: HTTPStatus.OK,
    Reason.VERSION_CONFLICT: HTTPStatus.CONFLICT,
    Reason.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    Reason.COMMAND_ID_REUSED: HTTPStatus.CONFLICT,
    Reason.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Reason.DELETED: HTTPStatus.GONE,
    Reason.TOO_LARGE: 413,
    Reason.HANDLER_ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Accepted; the outcome."},
    201: {"description": "Accepted, and the aggregate exists since then; the outcome."},
    202: {"description": "No outcome in time: send it again with this `command_id`."},
    401: {"description": "Needs `Authorization: Bearer` with the setting page_token."},
    404: {"description": "NOT_FOUND; the outcome."},
    409: {"description": "VERSION_CONFLICT and others; the outcome with `actual_version`."},
    410: {"description": "DELETED; the outcome."},
    413: {"description": "More bytes than a command, or its events, may have."},
    422: {"description": "BUSINESS_RULE, INVALID_COMMAND and others; or no command's shape."},
    503: {"description": "Kafka is away."},
}
OUTCOMES = (200, 201, 404, 409, 410)  # of which the body is one, whatever the command

Wait = Annotated[float, Query(ge=0, le=MOST_WAIT_S, description="Seconds for the outcome.")]


class Commands:
    """Sends for all who ask, by one client of the Kafka that there is."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._moving = Lock()
        self._options: dict[str, Any] = {}

    @asynccontextmanager
    async def open(self, page: FastAPI) -> AsyncIterator[None]:
        """Close the client at the end of the page."""
        yield
        await self._leave()

    def sending_to(self, kind: str) -> Callable[..., Any]:
        """Return what answers a request with a command to an aggregate of this type."""

        async def send(request: Request, wait_s: Wait = WAIT_S) -> Response:
            see_that_may_write(request, self._settings)
            body = await read(request, self._settings.command_limit_bytes)
            if body is None:
                limit = self._settings.command_limit_bytes
                return Json({"error": f"a command has {limit} bytes at most"}, 413)
            try:
                aggregate_id, command_id, value = sendable(body)
            except ValueError as error:
                return Json({"error": str(error)}, UNPROCESSABLE)
            return await self._answer(kind, aggregate_id, command_id, value, wait_s)

        return send

    async def _answer(
        self, kind: str, aggregate_id: str, command_id: str, value: bytes, wait_s: float
    ) -> Response:
        client = await self._connected()
        about = {"command_id": command_id}
        try:
            outcome = await client.send_encoded(
                kind, aggregate_id, command_id, value, timeout_s=wait_s
            )
        except NotDelivered as error:
            return Json(about | failed(error), 503)
        except OutcomeUnknown as error:
            return Json(about | {"status": "UNKNOWN", "message": str(error)}, 202)
        except TooLarge as error:
            return Json(about | failed(error), 413)
        except SendingFailed as error:
            return Json(about | failed(error), 503)
        return Json(readable(outcome), status_of(outcome))

    async def _connected(self) -> AsyncClient:
        """Return a client of the Kafka that there is now: an embedded one moves.

        Raises:
            Unreachable: No service says where it is.
        """
        options = dict(kafka_options(self._settings))
        async with self._moving:  # else two would make one each, while the former one ends
            if self._client is None or options != self._options:
                await self._leave()
                self._options = dict(options)
                servers = options.pop("bootstrap.servers")
                limit = self._settings.command_limit_bytes
                self._client = AsyncClient(servers, self._settings.topics, options, limit)
            return self._client

    async def _leave(self) -> None:
        former, self._client = self._client, None
        if former is not None:
            with suppress(NotDelivered):  # who sent it was told so
                await former.close()


def add_commands(page: FastAPI, commands: Commands) -> None:
    """Let programs send."""
    for kind in current().aggregate_types:
        page.add_api_route(
            _path(kind),
            commands.sending_to(kind),
            methods=["POST"],
            summary=f"Send a command to an aggregate of type {kind}; with a token.",
            operation_id=f"send_to_{kind}",
            responses=ANSWERS,
        )


def describe_commands(document: dict[str, Any]) -> None:
    """Say in an OpenAPI document what can be sent, and what is answered, by the classes."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    outcome = Outcome.model_json_schema(
        mode="serialization", ref_template="#/components/schemas/outcome.{model}"
    )
    schemas |= {f"outcome.{name}": part for name, part in outcome.pop("$defs").items()}
    answer = {"application/json": {"schema": {"$ref": "#/components/schemas/outcome"}}}
    schemas["outcome"] = outcome
    for kind in current().aggregate_types:
        envelope, parts = _described(kind)
        schemas |= parts
        body = {"required": True, "content": {"application/json": {"schema": envelope}}}
        post = document["paths"][_path(kind)]["post"]
        post["requestBody"] = body
        for status in OUTCOMES:
            post["responses"][str(int(status))]["content"] = answer


def _path(kind: str) -> str:
    return f"/commands/{kind}"


def status_of(outcome: Outcome) -> int:
    """Return how HTTP says what became of a command."""
    if outcome.reason is None and outcome.from_version == 0 and outcome.to_version:
        return HTTPStatus.CREATED
    return STATUS.get(outcome.reason, UNPROCESSABLE)


def sendable(body: bytes) -> tuple[str, str, bytes]:
    """Return an envelope's aggregate id and command id, and its bytes with the latter in them.

    Raises:
        ValueError: It has no envelope's shape; says what is missing.
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
    return aggregate_id, command_id, json.dumps(sent | {"command_id": command_id}).encode()


def _described(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of an envelope with the commands of a type, and what it refers to."""
    named = {
        name: create_model(name, __base__=command, type=(cast(Any, Literal[name]), ...))
        for name, command in sorted(current().aggregate(kind).command_types.items())
    }
    payload: Any = reduce(or_, named.values())
    envelope = create_model(
        f"{kind}_command",
        __base__=CommandEnvelope,
        payload=(payload, ...),
        command_id=(CommandId | None, None),
    )
    schema = envelope.model_json_schema(ref_template=f"#/components/schemas/{kind}.{{model}}")
    parts = schema.pop("$defs", {})
    schema["properties"]["expected_version"] = {
        "anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["ANY", "NO_STREAM", "EXISTS"]}]
    }
    return schema, {f"{kind}.{name}": part for name, part in parts.items()}
