"""Who is let in, and how much they see: by the host and the page they ask from, and their token."""

import hmac
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from ipaddress import ip_address

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer

from verdict.adapters.sql.readers.reader import Access
from verdict.errors import VerdictError
from verdict.http.problem import problem
from verdict.settings.settings import Settings

COOKIE = "verdict_token"
CARRIES = {
    # nothing but what we serve is loaded or run, by nobody else's page
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without, a form of ours has the origin null
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
TOKEN = HTTPBearer(  # says so to who reads our OpenAPI; `require_write_access` looks at it
    scheme_name="page_token", description="The setting page_token.", auto_error=False
)
Next = Callable[[Request], Awaitable[Response]]


def is_ours(host: str, names: Collection[str]) -> bool:
    """Tell whether a request is meant for us, by its Host header.

    A page of somebody's whose name was made to point here (DNS rebinding) asks for that name, so an
    address is let in, and localhost, and what `names` has.
    """
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    try:
        ip_address(name)
    except ValueError:
        return name.lower() in {"localhost", *(one.lower() for one in names)}
    return True


def is_of_ours(request: Request) -> bool:
    """Tell whether a page of ours asks, or somebody by hand, or a program."""
    site = request.headers.get("sec-fetch-site")
    if site is None:  # a browser from before 2023, which says so of a form at the least
        origin = request.headers.get("origin")
        return origin is None or origin.partition("//")[2] == request.headers.get("host")
    return site in ("same-origin", "none")


def _follows_a_link(request: Request) -> bool:
    return request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"


def came_from(request: Request) -> str:
    """Return the page of ours that a form was sent from, so that one goes on where one was."""
    referer, host = request.headers.get("referer", ""), request.headers.get("host")
    _, ours, path = referer.partition(f"//{host}/")
    # two slashes at its beginning would name another host, and to browsers a backslash is one
    path = path.lstrip("/\\")
    return f"/{path}" if ours and not path.startswith("token") else "/"


async def guarded(request: Request, call_next: Next, names: Collection[str]) -> Response:
    """Answer a request that is meant for us, with the headers that every answer has."""
    host = request.headers.get("host", "")
    if not is_ours(host, names):
        said = f"{host!r} is not a name of this page: add it to the setting allowed_hosts"
        answer = _turned_away(request, said, 421)
    elif not is_of_ours(request) and not _follows_a_link(request):
        answer = _turned_away(request, "a page of another site asked for this: open it here", 403)
    else:
        answer = await call_next(request)
    answer.headers.update(CARRIES)
    return answer


def _turned_away(request: Request, said: str, status: int) -> Response:
    return PlainTextResponse(f"{said}\n", status) if is_browser(request) else problem(status, said)


def is_browser(request: Request) -> bool:
    """Tell whether a person looks, who gets a page."""
    return "text/html" in request.headers.get("accept", "")


def has_token(given: bytes, settings: Settings) -> bool:
    """Tell whether somebody gave the token as UTF-8, in a time that tells nothing of it."""
    wanted = settings.page_token
    if wanted is None:
        return False
    return hmac.compare_digest(given, wanted.get_secret_value().encode())


def kept(settings: Settings) -> str:
    """Return what a browser keeps of the token, with which one sees and cannot write.

    A cookie goes to all ports of a host, so whatever else listens there gets it.
    """
    token = settings.page_token
    secret = b"" if token is None else token.get_secret_value().encode()
    return hmac.new(secret, COOKIE.encode(), sha256).hexdigest()


TOKEN_UNSET = (
    "nothing is written here without the setting page_token: set it, as VERDICT_PAGE_TOKEN, and "
    "start again"
)


SEND_TOKEN = "send the setting page_token along, as `Authorization: Bearer …`"


class TokenRequiredError(VerdictError):
    """A request writes, or reads what is not for everybody, and does not have the page token."""


def require_write_access(request: Request, settings: Settings) -> None:
    """Return when a program sends the token along; a browser's cookie is not enough to write.

    Raises:
        TokenRequiredError: It does not.
    """
    if not has_token(bearer(request), settings):
        raise TokenRequiredError(TOKEN_UNSET if settings.page_token is None else SEND_TOKEN)


def bearer(request: Request) -> bytes:
    """Return the token that a program sends along."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def sees(request: Request, settings: Settings) -> Access:
    """Return how much somebody sees: with the token, of a program or a browser, all."""
    cookie = request.cookies.get(COOKIE, "").encode()
    keeps = settings.page_token and hmac.compare_digest(cookie, kept(settings).encode())
    return Access.SUPPORT if keeps or has_token(bearer(request), settings) else Access.READER


async def read(request: Request, limit: int) -> bytes | None:
    """Return the body; None: it is longer than so many bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)
