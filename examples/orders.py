"""A service of a team's own in front of verdict: it places orders, modifies and shows them.

    KAFKA=127.0.0.1:9092 uvicorn examples.orders:service

All else is set as for verdict itself, in the environment or `verdict.toml`.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse

from commands.order import ModifyOrder, PlaceOrder
from compose.application import app
from verdict import AsyncClient, Command, Reason, load_settings, open_reader
from verdict.errors import OutcomeUnknownError, SendFailedError
from verdict.model import AggregateId
from verdict.readers import Access, ReadToken, wait_for_projection

ANSWER_S, SHOWN_S = 5.0, 5.0
CONFLICTS = (Reason.VERSION_CONFLICT, Reason.ALREADY_EXISTS, Reason.COMMAND_ID_REUSED)
STATUS = {None: 200, Reason.NOT_FOUND: 404, Reason.DELETED: 410} | dict.fromkeys(CONFLICTS, 409)
ORDERS = "SELECT * FROM client_recent_order WHERE client = :client ORDER BY rank"

Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=128)]


@asynccontextmanager
async def connected(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
    """Keep one client for all requests."""
    async with AsyncClient(app, os.environ["KAFKA"], load_settings(app).topics) as client:
        yield {"client": client}


service = FastAPI(title="orders", lifespan=connected)


@service.put("/orders/{id}")
async def place(
    request: Request, id: AggregateId, order: PlaceOrder, key: Key = None
) -> JSONResponse:
    return await decided(request, id, order, 0, key)


@service.patch("/orders/{id}")
async def modify(
    request: Request, id: AggregateId, change: ModifyOrder, version: int, key: Key = None
) -> JSONResponse:
    """Change an order that the sender has seen at this version."""
    return await decided(request, id, change, version, key)


async def decided(
    request: Request, id: str, command: Command, version: int, key: str | None
) -> JSONResponse:
    """Answer with the outcome; without one in time, with the key under which to ask again."""
    send = request.state.client.send
    try:
        outcome = await send(id, command, version, timeout_s=ANSWER_S, command_id=key)
    except OutcomeUnknownError as error:
        return JSONResponse({"idempotency_key": error.command_id, "why": str(error)}, 202)
    except SendFailedError as error:
        return JSONResponse({"why": str(error)}, 503)
    created = outcome.from_version == 0 and outcome.to_version
    status = 201 if created else STATUS.get(outcome.reason, 422)
    return JSONResponse(outcome.model_dump(mode="json"), status)


@service.get("/clients/{client}/orders")
def orders(client: str, id: str | None = None, version: int = 0) -> dict[str, Any]:
    """Show a client's newest orders; who has changed one, not before this version of it."""
    with open_reader(load_settings(app), Access.READER) as reader:
        seen = ReadToken("order", id or "", version)
        fresh = wait_for_projection(app, reader, "client_recent_order", seen, SHOWN_S, stale=True)
        found = reader.select(ORDERS, {"client": client})
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return {"fresh": fresh, "orders": rows}
