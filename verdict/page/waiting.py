"""What waits for a person, and what people decide about it: as `verdict letters`, with a form."""

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from verdict.configuration.settings import Settings
from verdict.model.message import LARGEST
from verdict.page.asked import some
from verdict.page.door import sees
from verdict.page.forms import Form, Undecided, filled_in
from verdict.page.pages import Pages
from verdict.reading.reader import Sees, reader_of
from verdict.standing.policy_rejections import LISTED, since
from verdict.unhandled.kind import By, Facts, Unhandled
from verdict.unhandled.kinds import kind_of, kinds

SHOWN = 50  # rejected commands of policies on a page
PERSONAL = ("payload", "replacement")

Address = Annotated[str, Query(max_length=2_000)]
Offset = Annotated[int, Query(ge=0, le=LARGEST)]
Decide = Callable[[Unhandled, str, Form, By], str]

DECISIONS: dict[str, Decide] = {
    "replay": lambda kind, id, form, by: kind.replay(id, by),
    "edit": lambda kind, id, form, by: kind.edit(id, form.get("payload", "").encode(), by),
    "evict": lambda kind, id, form, by: kind.evict(id, by, "all" in form),
    "accept": lambda kind, id, form, by: kind.accept(id, by),
}


def add_waiting(page: FastAPI, settings: Settings, pages: Pages) -> None:
    """Let people see what waits, and those with the token decide."""

    def listed(request: Request, said: str, offset: int = 0) -> Response:
        with kinds(settings) as every:
            found = [item for kind in every for item in kind.listed()]
        with reader_of(settings, sees(request, settings)) as reader:
            rejected, more = some(reader, LISTED, SHOWN, since=since(), offset=offset)
        waiting = {"found": found, "rejected": rejected, "said": said}
        paging = {"before": max(offset - SHOWN, 0), "offset": offset, "next": offset + SHOWN}
        return pages.shown(request, "letters", waiting | paging | {"more": more})

    def letters(request: Request, offset: Offset = 0) -> Response:
        return listed(request, "", offset)

    def letter(request: Request, id: Address) -> Response:
        with kind_of(id, settings) as kind:
            facts = kind.shown(id)
        if sees(request, settings) is Sees.READER:
            facts = {name: one for name, one in facts.items() if name not in PERSONAL}
        return pages.shown(request, "letter", {"id": id, **_told(facts)})

    async def decide(request: Request, id: Address) -> Response:
        form = await filled_in(request, settings)
        said = await run_in_threadpool(_decided, settings, id, form)
        return await run_in_threadpool(listed, request, said)

    page.add_api_route("/letters", letters, include_in_schema=False)
    page.add_api_route("/letter", letter, include_in_schema=False)
    page.add_api_route("/letter", decide, methods=["POST"], include_in_schema=False)


def by_whom(form: Form, why_needed: bool = True) -> By:
    """Return who decides, and why, as a form says it.

    Raises:
        Undecided: It does not.
    """
    who, why = form.get("who", "").strip(), form.get("why", "").strip()
    if not who or (why_needed and not why):
        raise Undecided("nothing was done: say who decides, and why; both are kept for ever")
    return By(who, why or None)


def _decided(settings: Settings, id: str, form: Form) -> str:
    action = form.get("action", "")
    if action not in DECISIONS:
        raise Undecided(f"nothing was done: {action!r} is none of {', '.join(DECISIONS)}")
    by = by_whom(form, why_needed=action != "replay")
    with kind_of(id, settings) as kind:
        return DECISIONS[action](kind, id, form, by)


def _told(facts: Facts) -> dict[str, Any]:
    """Return the facts of an item, its payload as a text that a form may change, and its story."""
    payload = facts.get("payload")
    plain = {name: one for name, one in facts.items() if name not in ("payload", "interventions")}
    told = {"facts": plain, "done": facts.get("interventions") or []}
    return told | {"payload": _text(payload), "editable": _is_json(payload)}


def _text(payload: Any) -> str | None:
    if payload is None or isinstance(payload, str):
        return payload
    return json.dumps(payload, ensure_ascii=False, indent=2)


def _is_json(payload: Any) -> bool:
    """Tell whether a browser, to which all ends of lines are one, gives back what it was given."""
    if not isinstance(payload, str):
        return payload is not None
    try:
        json.loads(payload)
    except ValueError:
        return False
    return True
