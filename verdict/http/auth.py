"""Which requests are served, and what they may see: by host, origin and token."""

import hmac
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from ipaddress import ip_address

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer

from verdict.adapters.sql.readers.reader import Access
from verdict.errors import VerdictError
from verdict.http.responses import problem
from verdict.settings.settings import Settings

COOKIE = "verdict_token"
HEADERS = {
    # our pages load and run only what we serve, and no other page embeds them
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # else the origin of our forms is null
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
TOKEN = HTTPBearer(  # for OpenAPI; `require_write_access` checks it
    scheme_name="page_token", description="The setting page_token.", auto_error=False
)
Next = Callable[[Request], Awaitable[Response]]


def is_allowed_host(host: str, names: Collection[str]) -> bool:
    """Return whether a Host header is an address, localhost, or one of `names`.

    Another name may be that of a foreign page, made to point here (DNS rebinding).
    """
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    try:
        ip_address(name)
    except ValueError:
        return name.lower() in {"localhost", *(one.lower() for one in names)}
    return True


def is_same_origin(request: Request) -> bool:
    """Return whether no page of another site made the request."""
    site = request.headers.get("sec-fetch-site")
    if site is None:  # a program, or a browser from before 2023, which sends an origin with forms
        origin = request.headers.get("origin")
        return origin is None or origin.partition("//")[2] == request.headers.get("host")
    return site in ("same-origin", "none")


def came_from(request: Request) -> str:
    """Return our page that a form was sent from, to go back there."""
    referer, host = request.headers.get("referer", ""), request.headers.get("host")
    _, ours, path = referer.partition(f"//{host}/")
    # two slashes at its start would name another host, and a browser reads \ as /
    path = path.lstrip("/\\")
    return f"/{path}" if ours and not path.startswith("token") else "/"


async def guarded(request: Request, call_next: Next, names: Collection[str]) -> Response:
    """Refuse other hosts and pages of other sites; add the headers of every response."""
    host = request.headers.get("host", "")
    is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if not is_allowed_host(host, names):
        detail = f"{host!r} is not a name of this page: add it to the setting allowed_hosts"
        response = _refusal(request, detail, 421)
    elif not is_same_origin(request) and not is_link:
        detail = "a page of another site made this request: open the page itself"
        response = _refusal(request, detail, 403)
    else:
        response = await call_next(request)
    response.headers.update(HEADERS)
    return response


def _refusal(request: Request, detail: str, status: int) -> Response:
    if is_browser(request):
        return PlainTextResponse(f"{detail}\n", status)
    return problem(status, detail)


def is_browser(request: Request) -> bool:
    """Return whether the response should be a page."""
    return "text/html" in request.headers.get("accept", "")


def has_token(given: bytes, settings: Settings) -> bool:
    """Return whether this is the token in UTF-8; the time it takes does not depend on the token."""
    wanted = settings.page_token
    if wanted is None:
        return False
    return hmac.compare_digest(given, wanted.get_secret_value().encode())


def cookie_value(settings: Settings) -> str:
    """Return what a browser keeps instead of the token; it allows to read, not to write.

    A cookie goes to all ports of a host, so other servers there get it.
    """
    token = settings.page_token
    secret = b"" if token is None else token.get_secret_value().encode()
    return hmac.new(secret, COOKIE.encode(), sha256).hexdigest()


TOKEN_UNSET = (
    "this page can only read without the setting page_token: set it, as VERDICT_PAGE_TOKEN, and "
    "start again"
)


SEND_TOKEN = "send the setting page_token as `Authorization: Bearer …`"


class TokenRequiredError(VerdictError):
    """A request that needs the page token does not have it."""


def require_write_access(request: Request, settings: Settings) -> None:
    """Require the token of a program; a browser's cookie does not allow to write.

    Raises:
        TokenRequiredError: It is missing, or another one.
    """
    if not has_token(bearer(request), settings):
        raise TokenRequiredError(TOKEN_UNSET if settings.page_token is None else SEND_TOKEN)


def bearer(request: Request) -> bytes:
    """Return the token that a program sent."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def sees(request: Request, settings: Settings) -> Access:
    """Return what the sender may see: all with the token or its cookie."""
    cookie = request.cookies.get(COOKIE, "").encode()
    has_cookie = settings.page_token and hmac.compare_digest(
        cookie, cookie_value(settings).encode()
    )
    return Access.SUPPORT if has_cookie or has_token(bearer(request), settings) else Access.READER


async def read(request: Request, limit: int) -> bytes | None:
    """Return the body; None: it is longer than `limit` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)
