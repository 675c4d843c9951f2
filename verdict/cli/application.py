"""The application that a verb works on: named by an option, by the surroundings, or found here."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdict.cli.connection import given

if TYPE_CHECKING:
    from verdict.model.application import Application

VARIABLE = "VERDICT_APP"
TOML = "verdict.toml"
DOTENV = ".env"
IN_A_CHECKOUT = "compose.application:app"


def load() -> "Application":
    """Return the application.

    Raises:
        ApplicationNotFoundError: There is none, or it cannot be loaded.
        InvalidApplicationError: It cannot be as it is declared.
    """
    from verdict.settings.application_loader import load_application  # not for who asks for help

    return load_application(application_path())


def load_if_named() -> "Application | None":
    """Return the application; None where none is named, and the working directory has none."""
    from verdict.settings.application_loader import NoApplicationHereError

    try:
        return load()
    except NoApplicationHereError:
        return None


def application_path() -> str:
    """Return which application is wanted, as `MODULE:NAME`.

    Raises:
        NoApplicationHereError: None is set, and this is no checkout of one.
    """
    from verdict.settings.application_loader import (
        NoApplicationHereError,
        is_in_the_working_directory,
    )

    if wanted := named():
        return wanted
    if is_in_the_working_directory(IN_A_CHECKOUT.partition(":")[0]):
        return IN_A_CHECKOUT
    raise NoApplicationHereError


def named() -> str | None:
    """Return what names the application: an option, the environment, `.env` or TOML."""
    option: str | None = given().get("app")
    return option or os.environ.get(VARIABLE) or _in_dotenv() or _in_toml()


def _in_dotenv() -> str | None:
    if not Path(DOTENV).exists():
        return None
    from dotenv import dotenv_values  # which takes longer to load than all of this

    return dotenv_values(DOTENV).get(VARIABLE)


def _in_toml() -> str | None:
    from tomllib import loads

    try:
        found = loads(Path(TOML).read_text()).get("app")
    except (OSError, ValueError):  # who reads the settings says what is wrong with it
        return None
    return found if isinstance(found, str) else None
