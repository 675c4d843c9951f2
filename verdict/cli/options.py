"""Options that verbs share, and the settings that come of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from verdict.application_loader import NoApplication, UnknownApplication
from verdict.cli.application import load, load_if_named
from verdict.cli.connection import given
from verdict.cli.output import note
from verdict.configuration.found import kafka_options as kafka_options
from verdict.configuration.loading import load_settings, misnamed
from verdict.configuration.settings import Settings
from verdict.model.aggregate import Misdeclared
from verdict.model.application import Application
from verdict.model.command_envelope import aggregate_id_rule


def known_aggregate(name: str | None) -> str | None:
    """Return the name of an aggregate type, or None if none was given.

    Raises:
        BadParameter: There is no such aggregate.
    """
    if name is not None and name not in (types := load().aggregate_types):
        known = ", ".join(types)
        raise typer.BadParameter(f"no aggregate {name!r}: there are {known}")
    return name


def possible_id(id: str | None) -> str | None:
    """Return an aggregate's id, or None if none was given.

    Raises:
        BadParameter: No aggregate can have it.
    """
    try:
        return id if id is None else aggregate_id_rule.validate_python(id)
    except ValidationError as error:
        problem = (
            f"an aggregate's id has 1 to 256 characters of Unicode, this one has {len(id or '')}"
        )
        raise typer.BadParameter(problem) from error


Json = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line.")]
AggregateType = Annotated[
    str, typer.Argument(callback=known_aggregate, help="Type of the aggregate, such as order.")
]
Id = Annotated[str, typer.Argument(metavar="ID", callback=possible_id, help="Id of the aggregate.")]


def settings_of(**flags: Any) -> Settings:
    """Return the settings, the flags of this call first; None is a flag that was not given.

    A variable that was meant for us and is not is said on stderr.
    """
    application = load_if_named()
    for warning in misnamed(application, os.environ):
        note(f"verdict: {warning}")
    return load_settings(application, **given(), **flags)


class OfTheEngine(Settings):
    """What can be chosen of the engine; what else the files set is an application's own."""

    model_config = SettingsConfigDict(extra="ignore")


NO_MORE = Application(
    name="the engine alone", aggregates=(), schemas="", namespace="", settings=OfTheEngine
)


@contextmanager
def settings_at_any_rate() -> Iterator[tuple[Settings, str | None]]:
    """Give the settings, and what is wrong with the application, which is said on stderr, too.

    For verbs that have something to tell of a deployment whose application is broken; inside they
    have one without anything in it.

    Raises:
        UnknownApplication: What is named is none.
    """
    try:
        settings = settings_of()
    except UnknownApplication:
        raise
    except (NoApplication, Misdeclared) as error:
        note(f"verdict: {error}: what is shown without it is what the engine itself knows")
        yield load_settings(NO_MORE, **given()), str(error)
    else:  # where there is none, who needs one will say so
        yield settings, None
