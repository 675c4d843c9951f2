"""Who is let in, and how much they see: by the host that they asked for, and by their token."""

import hmac
from collections.abc import Awaitable, Callable, Collection
from ipaddress import ip_address

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.reading.reader import Sees

COOKIE = "verdict_token"
CARRIES = {
    # nothing but what we serve is loaded or run, by nobody else's page
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
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


async def guarded(request: Request, call_next: Next, names: Collection[str]) -> Response:
    """Answer a request that is meant for us, with the headers that every answer has."""
    host = request.headers.get("host", "")
    if is_ours(host, names):
        answer = await call_next(request)
    else:
        said = f"{host!r} is no name of this page: add it to the setting page_names\n"
        answer = PlainTextResponse(said, 421)
    answer.headers.update(CARRIES)
    return answer


def has_token(given: str, settings: Settings) -> bool:
    """Tell whether somebody gave the token, in a time that tells nothing of it."""
    wanted = settings.page_token
    if wanted is None:
        return False
    return hmac.compare_digest(given.encode(), wanted.get_secret_value().encode())


class NeedsToken(VerdictError):
    """Somebody wants to write who did not give the token."""


def see_that_may_write(request: Request, settings: Settings) -> None:
    """Return when a program sends the token along; a browser's cookie is not enough to write.

    Raises:
        NeedsToken: It does not.
    """
    if not has_token(bearer(request), settings):
        how = "send the setting page_token along, as `Authorization: Bearer …`"
        unset = "nothing is written here without the setting page_token: set it"
        raise NeedsToken(unset if settings.page_token is None else how)


def bearer(request: Request) -> str:
    """Return the token that a program sends along."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def sees(request: Request, settings: Settings) -> Sees:
    """Return how much somebody sees: with the token, of a program or a browser, all."""
    given = bearer(request) or request.cookies.get(COOKIE, "")
    return Sees.OPERATOR if has_token(given, settings) else Sees.READER
