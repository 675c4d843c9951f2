"""A new read model of an aggregate that is there: how many events there were, and the last one."""

import sys

from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer

from verdict.cli.scaffold.example import example
from verdict.cli.scaffold.files import render
from verdict.cli.scaffold.names import InvalidNameError, class_name, require_valid_name
from verdict.cli.scaffold.part import ScaffoldPart
from verdict.cli.scaffold.place import Target
from verdict.cli.scaffold.source import call, imports
from verdict.model.aggregate import Aggregate
from verdict.model.application import Application, UnknownAggregateError
from verdict.model.message import Message
from verdict.read_side.catalog import projections
from verdict.read_side.tables.processor_tables import views_of

OF_SQL = {*RESERVED_WORDS, *SQLiteIdentifierPreparer.reserved_words}


def read_model(application: Application, place: Target, name: str, of: str | None) -> ScaffoldPart:
    """Return a new read model with its tests; the application has to be loaded for it.

    Raises:
        InvalidNameError: It cannot be called so.
        VerdictError: There is no such aggregate, or there are several.
    """
    require_valid_name("read model", name)
    _require_valid_view_name(application, name)
    followed = _followed(application, of)
    module, tests = f"{place.package}projections.{name}", f"{place.package}tests.test_{name}"
    files = {
        place.path(module): _projection(name, followed),
        place.path(tests): _test(place, name, module, followed),
    }
    return ScaffoldPart(name, module, "projections", files)


def _require_valid_view_name(application: Application, name: str) -> None:
    if name in OF_SQL:
        raise InvalidNameError(f"read model {name!r} cannot have this name: it is a word of SQL")
    if name in views_of(projections(application)):
        raise InvalidNameError(f"read model {name!r} cannot have this name: there is such a view")


def _followed(application: Application, of: str | None) -> Aggregate[Message]:
    known = application.aggregate_types
    if of is None and len(known) == 1:
        of = known[0]
    if of is None:
        raise InvalidNameError(
            f"say with --of whose events it follows: there are {', '.join(known)}"
        )
    try:
        return application.aggregate(of)
    except UnknownAggregateError as error:
        raise InvalidNameError(str(error)) from error


def _projection(name: str, followed: Aggregate[Message]) -> str:
    row, kinds = f"{class_name(name)}Row", followed.event_types
    written, named = _union(followed)
    cases = (f'        case {kind}():\n            last = "{kind}"' for kind in kinds)
    return render(
        "read_model.py",
        name=name,
        row=row,
        aggregate=followed.name,
        imports=imports([*((one.__module__, one.__name__) for one in kinds.values()), *named]),
        union=written,
        cases="\n".join(cases),
    )


def _union(followed: Aggregate[Message]) -> tuple[str, list[tuple[str, str]]]:
    """Return how a module writes the type of an aggregate's events, and what it imports for it."""
    module = next(iter(followed.event_types.values())).__module__
    for name, value in vars(sys.modules[module]).items():
        if value is followed.events:
            return name, [(module, name)]
    return " | ".join(followed.event_types), []


def _test(place: Target, name: str, module: str, followed: Aggregate[Message]) -> str:
    shown = [(place.module, place.value), (module, name)]
    for event, kind in followed.event_types.items():
        if (fields := example(kind)) is not None:
            return render(
                "test_read_model.py",
                name=name,
                aggregate=followed.name,
                event=event,
                example=call(event, fields.items()),
                imports=imports([*shown, (kind.__module__, event)]),
                value=place.value,
            )
    alone = "test_read_model_alone.py"
    return render(alone, name=name, imports=imports(shown), value=place.value)
