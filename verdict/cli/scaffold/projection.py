"""A new projection of an existing aggregate: how many events it has, and the last one."""

import sys
from pathlib import Path

from pydantic import ValidationError

from verdict.cli.scaffold.files import (
    InvalidNameError,
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


def new_projection(
    application: Application, target: Target, name: str, of: str | None
) -> dict[Path, str]:
    """Return the files of a new projection with its tests; the application has to be loaded."""
    require_valid_name("projection", name)
    if name in views_of(projections(application)):
        raise InvalidNameError(f"projection {name!r} cannot have this name: a view has it")
    followed = _followed(application, of)
    module, tests = f"{target.package}projections.{name}", f"{target.package}tests.test_{name}"
    return {
        target.path(module): _projection(name, followed),
        target.path(tests): _test(target, name, module, followed),
    }


def _followed(application: Application, of: str | None) -> Aggregate[Message]:
    known = application.aggregate_types
    if of is None and len(known) > 1:
        raise InvalidNameError(
            f"name with --of the aggregate whose events it follows: there are {', '.join(known)}"
        )
    try:
        return application.aggregate(of or "".join(known))
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
    pieces = {"name": name, "value": target.value, "aggregate": followed.name}
    for event, kind in followed.event_types.items():
        if (arguments := example(kind)) is not None:
            named = imports([*shown, (kind.__module__, event)])
            made = f"{event}({arguments})"
            return render("test_projection.py", event=event, example=made, imports=named, **pieces)
    return render("test_projection_alone.py", imports=imports(shown), **pieces)


def example(kind: type[Event]) -> str | None:
    """Return arguments for a class of events, None if its fields are not texts and numbers."""
    required = [name for name, field in kind.model_fields.items() if field.is_required()]
    try:
        made = kind.model_validate_strings(dict.fromkeys(required, "1"))
    except ValidationError:
        return None
    return ", ".join(f"{name}={getattr(made, name)!r}".replace("'", '"') for name in required)
