"""An event of a class that is not known before, for a first test."""

import json

from pydantic import ValidationError

from verdict.model.message import Event

VALUES: tuple[object, ...] = ("text", 1, True, [], None)


def example(kind: type[Event]) -> dict[str, str] | None:
    """Return field → a value, as it is written in Python; None when the plain ones do not fit."""
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
            return {name: _written(VALUES[at]) for name, at in chosen.items()}


def _written(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)
