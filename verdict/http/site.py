"""What a handler works with: the page's shared parts, and a request with what its sender sees."""

import json
import re
from asyncio import Semaphore
from importlib.metadata import version as version_of
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.adapters.sql.time_text import text_of, wall_clock
from verdict.errors import VerdictError
from verdict.http.auth import sees
from verdict.model.message import Fields
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.sampler import Samples, StatusSampler
from verdict.settings.settings import Settings
from verdict.wire.control_characters import escape_lines
from verdict.wire.json_lines import as_json

FORM_BYTES = 8_192
QUERIES = 2  # of the SQL page, at a time
QUERY_S = 10  # a page must not wait longer
TIME = Markup('<time datetime="{0}" title="{0}">{0}</time>')
NOTHING = "\u2013"
PAGES = {  # verb → the page that does the same
    "blocked": ("/attention", "Needs attention"),
    "dead-letters": ("/attention", "Needs attention"),
    "skip": ("/attention", "Needs attention"),
    "sql": ("/sql", "SQL"),
    "status": ("/", "Overview"),
}
VERB = re.compile(rf"`verdict ({'|'.join(PAGES)})\b[^`]*`")


class BodyTooLongError(VerdictError):
    """A request has more bytes than its address takes."""


class Site:
    """What all requests to a page share."""

    def __init__(self, settings: Settings, sampler: StatusSampler) -> None:
        limit = min(QUERY_S, settings.sql_timeout_s)
        self.settings = settings.model_copy(update={"sql_timeout_s": limit})
        self.sampler = sampler
        self.samples = Samples(sampler.look)
        self.timeout = DatabaseTimeout()
        self.sql_turns = Semaphore(QUERIES)
        self.templates = _templates()


class RequestContext:
    """A request, and what its sender may see."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.site: Site = request.app.state.site
        self.settings = self.site.settings
        self.application = self.settings.application
        self.access = sees(request, self.settings)

    def reader(self, access: Access | None = None) -> Reader:
        """Open the views that the sender may see, or those of another role."""
        return open_reader(self.settings, access or self.access)

    def show(self, name: str, values: Fields, status: int = 200) -> Response:
        """Return a page: a template with these values."""
        everywhere = {
            "name": self.application.name,
            "deployment": self.settings.deployment,
            "verdict_version": version_of("verdict-cqrs"),
            "now": text_of(wall_clock()),
            "path": self.request.url.path,
            "aggregates": self.application.aggregate_types,
            "masked": self.access is Access.READER,
            "has_token": self.settings.page_token is not None,
        }
        template = self.site.templates.get_template(f"{name}.html")
        return HTMLResponse(template.render(values | everywhere), status)

    async def body(self, limit: int) -> bytes:
        """Return the body of the request.

        Raises:
            BodyTooLongError: It is longer than `limit` bytes.
        """
        body = bytearray()
        async for chunk in self.request.stream():
            body += chunk
            if len(body) > limit:
                raise BodyTooLongError(f"nothing was done: this takes at most {limit} bytes")
        return bytes(body)

    async def form(self) -> dict[str, str]:
        """Return the fields of a form."""
        body = await self.body(FORM_BYTES)
        return dict(parse_qsl(body.decode(errors="replace")))


async def _context(request: Request) -> RequestContext:  # async: it needs no thread
    return RequestContext(request)


Context = Annotated[RequestContext, Depends(_context)]


def _templates() -> Environment:
    """Return the templates, which escape all values."""
    made = Environment(
        loader=PackageLoader("verdict.http"),
        autoescape=True,
        finalize=_plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "cell": _cell,
        "count": lambda value: None if value is None else f"{value:,}",
        "number": lambda value: None if value is None else f"{value:,.1f}".removesuffix(".0"),
        # the script of the page shows how long ago that was
        "time": lambda text: None if text is None else TIME.format(text),
        "linked": _linked,
    }
    return made


def _plain(value: Any) -> Any:
    """Return what a template shows: no character changes the direction of a line."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return escape_lines(value)
    return NOTHING if value is None else value


def _linked(text: str) -> Markup:
    """Return a text in which a verb becomes a link to the page that does the same."""
    return Markup(VERB.sub(_link, str(escape(escape_lines(text)))))


def _link(verb: re.Match[str]) -> str:
    address, title = PAGES[verb[1]]
    return f'<a href="{address}" title="{verb[0][1:-1]}">{title}</a>'


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=as_json)
    return NOTHING if value is None else str(value)


def as_text(value: Any) -> str:
    """Return a JSON value as text of several lines, and a text unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
