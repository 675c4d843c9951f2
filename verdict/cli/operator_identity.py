"""Who decides something that is kept for ever, and reason: options of the verbs that do."""

from getpass import getuser
from typing import Annotated

import typer

from verdict.operations.repair.operator_identity import OperatorIdentity

Who = Annotated[
    str | None, typer.Option("--operator", help="Who does it.", show_default="the name of the user")
]
Why = Annotated[str, typer.Option("--reason", help="The reason; it is kept for ever.")]
WhyIfAny = Annotated[
    str | None, typer.Option("--reason", help="The reason, if there is one to keep.")
]
Document = Annotated[
    typer.FileBinaryRead,
    typer.Option("--file", metavar="FILE|-", help="The payload as JSON, as `show` prints it."),
]

MOST_CHARACTERS = 1_000


def operator_identity(operator: str | None, reason: str | None) -> OperatorIdentity:
    """Return the person, and the reason on one line.

    Raises:
        BadParameter: The reason is blank, or nobody can tell who it is; or one of the two is no
            text, or too long to be shown wherever it counts.
    """
    if reason is not None and not (reason := _kept(reason, "--reason")):
        raise typer.BadParameter("give the reason", param_hint="--reason")
    try:
        return OperatorIdentity(_kept(operator or getuser(), "--operator"), reason)
    except (KeyError, OSError) as error:  # a container may run as a user without a name
        raise typer.BadParameter(
            "this user has no name: name the operator", param_hint="--operator"
        ) from error


def _kept(said: str, option: str) -> str:
    try:
        said.encode()
    except UnicodeEncodeError as error:  # a shell passes any bytes on
        raise typer.BadParameter(f"{said!r} is no text in UTF-8", param_hint=option) from error
    if len(said) > MOST_CHARACTERS:
        raise typer.BadParameter(
            f"has {len(said):,} characters, and {MOST_CHARACTERS:,} are kept: say it shorter, or "
            "where the whole is written",
            param_hint=option,
        )
    return " ".join(said.split())
