"""Pages for what needs attention, and the form to retry, replay or skip it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, NamedTuple
from urllib.parse import parse_qs

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from verdict.adapters.sql.readers.reader import Access, open_reader
from verdict.errors import VerdictError
from verdict.http.auth import TOKEN_UNSET, TokenRequiredError, has_token, read, sees
from verdict.http.pages import Pages
from verdict.http.templating import as_text
from verdict.model.message import LARGEST
from verdict.operations.inspect.queries import some
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.dead_letters import DeadLetters
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.operations.repair.repair_session import Repair, repair
from verdict.operations.repair.stopping_records import StoppingRecords, place_of
from verdict.operations.status.policy_rejections import LISTED, since
from verdict.settings.settings import Settings

HERE = "/attention"
SHOWN = 50  # rejected commands of policies on a page
FORM_BYTES = 8_192
PERSONAL = ("payload", "replacement", "interventions")

Address = Annotated[str, Query(max_length=2_000)]
Offset = Annotated[int, Query(ge=0, le=LARGEST)]
Form = dict[str, str]
Action = Callable[[Repair, str, Form, OperatorIdentity], str]


class InvalidFormError(VerdictError):
    """A form lacks the action, the operator or the reason."""


class ItemKind(NamedTuple):
    """A kind of items: the path of their pages, the verb that does the same, and their actions."""

    path: str
    verb: str
    items: Callable[[Repair], BlockedAggregates | StoppingRecords | DeadLetters]
    actions: Mapping[str, Action]


def _skip_record(on: Repair, id: str, form: Form, by: OperatorIdentity) -> str:
    if (place := place_of(id)) is None:
        raise NothingWaitsError(id)
    return on.records.skip(place, None, by)


KINDS = (
    ItemKind(
        "/blocked",
        "blocked",
        lambda on: on.blocked,
        {
            "retry": lambda on, id, form, by: on.blocked.retry(id, by),
            "skip": lambda on, id, form, by: on.blocked.skip(id, by, "all" in form),
        },
    ),
    ItemKind("/record", "skip", lambda on: on.records, {"skip": _skip_record}),
    ItemKind(
        "/dead-letter",
        "dead-letters",
        lambda on: on.dead_letters,
        {
            "replay": lambda on, id, form, by: on.dead_letters.replay(id, by),
            "skip": lambda on, id, form, by: on.dead_letters.skip(id, by),
        },
    ),
)


def add_repair(page: FastAPI, settings: Settings, pages: Pages) -> None:
    """Add the list of what needs attention, a page for each item, and its actions."""

    def listed(request: Request, done: str, offset: int = 0) -> Response:
        with repair(settings) as on:
            found = [
                item | {"path": kind.path} for kind in KINDS for item in kind.items(on).listed()
            ]
        with open_reader(settings, sees(request, settings)) as reader:
            rejected, more = some(reader, LISTED, SHOWN, since=since(), offset=offset)
        values = {"found": found, "rejected": rejected, "done": done, "more": more}
        paging = {"before": max(offset - SHOWN, 0), "offset": offset, "next": offset + SHOWN}
        return pages.shown(request, "attention", values | paging)

    def attention(request: Request, offset: Offset = 0) -> Response:
        return listed(request, "", offset)

    def one(kind: ItemKind, request: Request, id: Address) -> Response:
        with repair(settings) as on:
            facts = kind.items(on).shown(id)
        hidden = PERSONAL if sees(request, settings) is Access.READER else ()
        plain = {name: value for name, value in facts.items() if name not in PERSONAL}
        payload = None if hidden else facts.get("payload")
        values = {
            "id": id,
            "kind": kind,
            "facts": plain,
            "payload": None if payload is None else as_text(payload),
            "done": [] if hidden else facts.get("interventions") or [],
        }
        return pages.shown(request, "waiting", values)

    async def act(kind: ItemKind, request: Request, id: Address) -> Response:
        form = await _form(request, settings)
        done = await run_in_threadpool(_act, settings, kind, id, form)
        return await run_in_threadpool(listed, request, done)

    page.add_api_route(HERE, attention, include_in_schema=False)
    for kind in KINDS:
        page.add_api_route(kind.path, partial(one, kind), include_in_schema=False)
        page.add_api_route(kind.path, partial(act, kind), methods=["POST"], include_in_schema=False)


async def _form(request: Request, settings: Settings) -> Form:
    """Return a form that contains the token: a cookie does not allow to write.

    Raises:
        TokenRequiredError: The token is missing or another one, or none is set.
        InvalidFormError: The form is longer than any form of the page.
    """
    body = await read(request, FORM_BYTES)
    if body is None:
        raise InvalidFormError(f"nothing was done: a form has at most {FORM_BYTES} bytes")
    form = {name: values[-1] for name, values in parse_qs(body.decode(errors="replace")).items()}
    if settings.page_token is None:
        raise TokenRequiredError(TOKEN_UNSET)
    if not has_token(form.get("token", "").encode(), settings):
        raise TokenRequiredError("nothing was done: that is not the setting page_token")
    return form


def _act(settings: Settings, kind: ItemKind, id: str, form: Form) -> str:
    name = form.get("action", "")
    if name not in kind.actions:
        raise InvalidFormError(f"nothing was done: {name!r} is none of {', '.join(kind.actions)}")
    operator, reason = form.get("operator", "").strip(), form.get("reason", "").strip()
    if not operator or (name == "skip" and not reason):
        raise InvalidFormError(
            "nothing was done: name the operator and give the reason; both are recorded"
        )
    with repair(settings) as on:
        return kind.actions[name](on, id, form, OperatorIdentity(operator, reason or None))
