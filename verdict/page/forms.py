"""What people fill in to change something: they bring the token with it."""

from urllib.parse import parse_qs

from fastapi import Request

from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.page.door import TOKEN_UNSET, NeedsToken, has_token, read

FORM_BYTES = 8 * 2**20  # a form writes some bytes as three

Form = dict[str, str]


class Undecided(VerdictError):
    """A form does not say what to do, who does it, or why."""


async def filled_in(request: Request, settings: Settings) -> Form:
    """Return what somebody who may write filled into a form of ours.

    A form brings the token itself: a cookie goes to every port of a host, so it lets nobody write.

    Raises:
        NeedsToken: Not the token, or there is none.
        Undecided: More than a form has.
    """
    body = await read(request, FORM_BYTES)
    if body is None:
        raise Undecided(f"a form has {FORM_BYTES} bytes at most: use the command line")
    form = {name: values[-1] for name, values in parse_qs(body.decode(errors="replace")).items()}
    if settings.page_token is None:
        raise NeedsToken(TOKEN_UNSET)
    if not has_token(form.get("token", "").encode(), settings):
        raise NeedsToken("nothing was done: that is not the setting page_token")
    return form
