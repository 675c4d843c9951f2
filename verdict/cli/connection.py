"""Where a verb finds its deployment: options of every verb, declared once."""

from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

PANEL = "Where"
_given: ContextVar[MappingProxyType[str, Any]] = ContextVar("given", default=MappingProxyType({}))


def given() -> dict[str, Any]:
    """Return the settings that this call of a verb gave by these options; None is: not given."""
    return dict(_given.get())


def add_connection(command: Any) -> None:
    """Let a command, or each command of a group, take the options."""
    leaves = getattr(command, "commands", None)
    if leaves is None:
        command.params += _options()
        return
    for leaf in leaves.values():
        add_connection(leaf)


def _note(param: typer.CallbackParam, value: Any) -> None:
    # every option is asked at every call, so nothing of a call before is left
    _given.set(MappingProxyType({**_given.get(), str(param.name): value}))


def app_option(panel: str | None = None) -> Any:
    """Return the option that names the application, for who asks for it before all others."""
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


def _option(help: str, otherwise: str) -> Any:
    return typer.Option(
        help=help,
        show_default=otherwise,
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
    """Declare the options; nobody calls this."""


def _options() -> list[Any]:
    declared = typer.Typer(add_completion=False)
    declared.command()(_declared)
    return [one for one in typer.main.get_command(declared).params if one.name != "help"]
