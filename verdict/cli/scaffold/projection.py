"""A new projection of an existing aggregate: how many events it has, and the last one."""

import json
import sys

from pydantic import ValidationError
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer

from verdict.cli.scaffold.files import (
    InvalidNameError,
    ScaffoldPart,
    Target,
    class_name,
    imports,
    render,
    require_valid_name,
)
from verdict.model.aggregate import Aggregate
from verdict.model.application import Application, UnknownAggregateError
from verdict.model.message import Event, Message
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import views_of

VALUES: tuple[object, ...] = ("text", 1, True, [], None)
OF_SQL = {*RESERVED_WORDS, *SQLiteIdentifierPreparer.reserved_words}


def projection(application: Application, target: Target, name: str, of: str | None) -> ScaffoldPart:
    """Return a new projection with its tests; the application has to be loaded.

    Raises:
        InvalidNameError: It cannot have this name.
        VerdictError: There is no such aggregate, or there are several.
    """
    require_valid_name("projection", name)
    _require_valid_view_name(application, name)
    followed = _followed(application, of)
    module, tests = f"{target.package}projections.{name}", f"{target.package}tests.test_{name}"
    files = {
        target.path(module): _projection(name, followed),
        target.path(tests): _test(target, name, module, followed),
    }
    return ScaffoldPart(name, module, "projections", files)


def _require_valid_view_name(application: Application, name: str) -> None:
    if name in OF_SQL:
        raise InvalidNameError(f"projection {name!r} cannot have this name: SQL reserves this word")
    if name in views_of(projections(application)):
        raise InvalidNameError(f"projection {name!r} cannot have this name: a view has it")


def _followed(application: Application, of: str | None) -> Aggregate[Message]:
    known = application.aggregate_types
    if of is None and len(known) == 1:
        of = known[0]
    if of is None:
        raise InvalidNameError(
            f"name with --of the aggregate whose events it follows: there are {', '.join(known)}"
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
        "projection.py",
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


def _test(target: Target, name: str, module: str, followed: Aggregate[Message]) -> str:
    shown = [(target.module, target.value), (module, name)]
    for event, kind in followed.event_types.items():
        if (fields := example(kind)) is not None:
            arguments = ", ".join(f"{field}={value}" for field, value in fields.items())
            return render(
                "test_projection.py",
                name=name,
                aggregate=followed.name,
                event=event,
                example=f"{event}({arguments})",
                imports=imports([*shown, (kind.__module__, event)]),
                value=target.value,
            )
    alone = "test_projection_alone.py"
    return render(alone, name=name, imports=imports(shown), value=target.value)


def example(kind: type[Event]) -> dict[str, str] | None:
    """Return field → a value in Python for a class of events; None when plain values do not fit."""
    chosen = {name: 0 for name, field in kind.model_fields.items() if field.is_required()}
    while True:
        try:
            kind.model_validate({name: VALUES[at] for name, at in chosen.items()})
        except ValidationError as error:
            wrong = {str(one["loc"][0]) for one in error.errors() if one["loc"]} & {*chosen}
            if not wrong or any(chosen[name] + 1 == len(VALUES) for name in wrong):
                return None
            chosen |= {name: chosen[name] + 1 for name in wrong}
        else:
            values = {name: VALUES[at] for name, at in chosen.items()}
            return {
                name: json.dumps(value) if isinstance(value, str) else repr(value)
                for name, value in values.items()
            }
