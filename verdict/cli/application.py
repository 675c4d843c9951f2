"""Options of every verb: which application, and where its deployment is."""

from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from verdict.model.application import Application

PANEL = "Where"
IN_A_CHECKOUT = "compose.application:app"

_given: ContextVar[dict[str, object]] = ContextVar("given")


def given() -> dict[str, object]:
    """Return the settings that the options of this call name; None is: not given."""
    return _given.get({})


def load() -> "Application":
    """Return the application."""
    from verdict.settings.application_loader import load_application  # not needed for --help

    return load_application(application_path())


def load_if_named() -> "Application | None":
    """Return the application; None where none is named, and the working directory has none."""
    from verdict.settings.application_loader import NoApplicationHereError

    try:
        return load()
    except NoApplicationHereError:
        return None


def application_path() -> str:
    """Return which application is wanted, as `MODULE:NAME`."""
    from verdict.settings.application_loader import (
        NoApplicationHereError,
        is_in_the_working_directory,
    )
    from verdict.settings.load import named_application

    if named := given().get("app") or named_application():
        return str(named)
    if is_in_the_working_directory(IN_A_CHECKOUT.partition(":")[0]):
        return IN_A_CHECKOUT
    raise NoApplicationHereError


def add_connection(command: Any) -> None:
    """Add the options to a command, or to each command of a group."""
    if hasattr(command, "commands"):
        for leaf in command.commands.values():
            add_connection(leaf)
        return
    declared = typer.Typer(add_completion=False)
    declared.command()(_declared)
    options = typer.main.get_command(declared).params
    command.params += [one for one in options if one.name != "help"]


def app_option(panel: str | None = None) -> Any:
    """Return the option that names the application; `verdict` itself takes it, too."""
    return typer.Option(
        "--app",
        metavar="MODULE:NAME",
        help="The application.",
        show_default="VERDICT_APP, verdict.toml, else compose/application.py",
        callback=_name_the_application,
        expose_value=False,
        is_eager=True,
        rich_help_panel=panel,
    )


def _name_the_application(
    context: typer.Context, param: typer.CallbackParam, path: str | None
) -> str | None:
    if path is not None or context.parent is None:  # a verb without it has that of `verdict`
        _note(param, path)
    return path


def _note(param: typer.CallbackParam, value: Any) -> None:
    # click calls this for every option of every call, so no value of an earlier call stays
    _given.set({**given(), str(param.name): value})


def _option(help: str, default: str) -> Any:
    return typer.Option(
        help=help,
        show_default=default,
        callback=_note,
        expose_value=False,
        rich_help_panel=PANEL,
    )


def _declared(
    app: Annotated[str | None, app_option(PANEL)] = None,
    data_dir: Annotated[
        Path | None, _option("Data directory of the service.", "VERDICT_DATA_DIR or per user")
    ] = None,
    deployment: Annotated[str | None, _option("Its name.", "as set, else verdict")] = None,
    bootstrap_servers: Annotated[
        str | None, _option("Kafka.", "that of the running service")
    ] = None,
    database_url: Annotated[
        str | None, _option("Read side.", "that of the running service")
    ] = None,
) -> None:
    """Declare the options; nothing calls this."""
