"""Pages for what needs attention, and the form to retry, replay or skip it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from verdict.adapters.sql.readers.reader import Access
from verdict.errors import VerdictError
from verdict.http.auth import require_token
from verdict.http.site import Context, RequestContext, as_text
from verdict.model.message import LARGEST
from verdict.operations.inspect.queries import some
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.dead_letters import DeadLetters
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.operations.repair.repair_session import Repair, repair
from verdict.operations.repair.stopping_records import StoppingRecords, place_of
from verdict.operations.status.read_side_status import LISTED, since

SHOWN = 50  # rejected commands of policies on a page
PERSONAL = ("payload", "replacement", "interventions")

Address = Annotated[str, Query(max_length=2_000)]
Offset = Annotated[int, Query(ge=0, le=LARGEST)]
Form = dict[str, str]
Action = Callable[[Repair, str, Form, OperatorIdentity], str]
router = APIRouter(include_in_schema=False)


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


@router.get("/attention")
def attention(context: Context, offset: Offset = 0) -> Response:
    """List what needs attention."""
    return _listed(context, "", offset)


def _listed(context: RequestContext, done: str, offset: int = 0) -> Response:
    with repair(context.settings) as on:
        found = [item | {"path": kind.path} for kind in KINDS for item in kind.items(on).listed()]
    with context.reader() as reader:
        rejected, more = some(reader, LISTED, SHOWN, since=since(), offset=offset)
    values = {"found": found, "rejected": rejected, "done": done, "more": more}
    paging = {"before": max(offset - SHOWN, 0), "offset": offset, "next": offset + SHOWN}
    return context.show("attention", values | paging)


def _show(kind: ItemKind, context: Context, id: Address) -> Response:
    with repair(context.settings) as on:
        facts = kind.items(on).shown(id)
    hidden = context.access is Access.READER
    payload = None if hidden else facts.get("payload")
    values = {
        "id": id,
        "kind": kind,
        "facts": {name: value for name, value in facts.items() if name not in PERSONAL},
        "payload": None if payload is None else as_text(payload),
        "done": [] if hidden else facts.get("interventions") or [],
    }
    return context.show("waiting", values)


async def _act(kind: ItemKind, context: Context, id: Address) -> Response:
    """Do what a form with the token asks for: a cookie does not allow to write."""
    form = await context.form()
    require_token(form.get("token", "").encode(), context.settings)
    done = await run_in_threadpool(_do, context, kind, id, form)
    return await run_in_threadpool(_listed, context, done)


def _do(context: RequestContext, kind: ItemKind, id: str, form: Form) -> str:
    name = form.get("action", "")
    if name not in kind.actions:
        raise InvalidFormError(f"nothing was done: {name!r} is none of {', '.join(kind.actions)}")
    operator, reason = form.get("operator", "").strip(), form.get("reason", "").strip()
    if not operator or (name == "skip" and not reason):
        raise InvalidFormError(
            "nothing was done: name the operator and give the reason; both are recorded"
        )
    with repair(context.settings) as on:
        return kind.actions[name](on, id, form, OperatorIdentity(operator, reason or None))


for _kind in KINDS:
    router.get(_kind.path)(partial(_show, _kind))
    router.post(_kind.path)(partial(_act, _kind))
