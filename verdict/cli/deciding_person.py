"""Who decides something that is kept for ever, and why: options of the verbs that do."""

from getpass import getuser
from typing import Annotated

import typer

from verdict.unhandled.kind import By

Who = Annotated[
    str | None, typer.Option("--by", help="Who does it.", show_default="the name of the user")
]
Why = Annotated[str, typer.Option("--why", help="The reason; it is kept for ever.")]
WhyIfAny = Annotated[str | None, typer.Option("--why", help="The reason, if there is one to keep.")]


def decided_by(who: str | None, why: str | None) -> By:
    """Return the person.

    Raises:
        BadParameter: The reason is blank, or nobody can tell who it is.
    """
    if why is not None and not why.strip():
        raise typer.BadParameter("say why", param_hint="--why")
    try:
        return By(who or getuser(), why)
    except (KeyError, OSError) as error:  # a container may run as a user without a name
        raise typer.BadParameter("this user has no name: say who", param_hint="--by") from error
