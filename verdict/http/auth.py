"""Which requests are served, and what they may see: by host, origin and token."""

import hmac
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from ipaddress import ip_address

from fastapi import Request, Response
from fastapi.security import HTTPBearer
from pydantic import SecretStr

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
TOKEN = HTTPBearer(  # for OpenAPI; `require_token` checks it
    scheme_name="page_token", description="The setting page_token.", auto_error=False
)
TOKEN_UNSET = (
    "this page can only read without the setting page_token: set it, as VERDICT_PAGE_TOKEN, and "
    "start again"
)
SEND_TOKEN = "send the setting page_token as `Authorization: Bearer …`"


class TokenRequiredError(VerdictError):
    """A request that needs the page token does not have it."""


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


async def guarded(
    request: Request,
    call_next: Callable[[Request], Awaitable[Response]],
    names: Collection[str],
) -> Response:
    """Refuse other hosts and pages of other sites; add the headers of every response."""
    host = request.headers.get("host", "")
    is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    response: Response
    if not is_allowed_host(host, names):
        detail = f"{host!r} is not a name of this page: add it to the setting allowed_hosts"
        response = problem(421, detail)
    elif not is_same_origin(request) and not is_link:
        detail = "a page of another site made this request: open the page itself"
        response = problem(403, detail)
    else:
        response = await call_next(request)
    response.headers.update(HEADERS)
    return response


def has_token(given: bytes, settings: Settings) -> bool:
    """Return whether this is the token in UTF-8; the time it takes does not depend on the token."""
    wanted = settings.page_token
    return wanted is not None and hmac.compare_digest(given, wanted.get_secret_value().encode())


def cookie_value(token: SecretStr) -> str:
    """Return what a browser keeps instead of the token; it allows to read, not to write.

    A cookie goes to all ports of a host, so other servers there get it.
    """
    return hmac.new(token.get_secret_value().encode(), COOKIE.encode(), sha256).hexdigest()


def require_token(given: bytes, settings: Settings) -> None:
    """Require the token itself: a browser's cookie does not allow to write.

    Raises:
        TokenRequiredError: It is missing, or another one.
    """
    if settings.page_token is None:
        raise TokenRequiredError(TOKEN_UNSET)
    if not has_token(given, settings):
        raise TokenRequiredError(f"nothing was done without the token: {SEND_TOKEN} or in the form")


def bearer(request: Request) -> bytes:
    """Return the token that a program sent."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def sees(request: Request, settings: Settings) -> Access:
    """Return what the sender may see: all with the token or its cookie."""
    if settings.page_token is None:
        return Access.READER
    cookie = request.cookies.get(COOKIE, "").encode()
    is_ours = hmac.compare_digest(cookie, cookie_value(settings.page_token).encode())
    return Access.SUPPORT if is_ours or has_token(bearer(request), settings) else Access.READER
