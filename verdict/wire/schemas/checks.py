"""What a newer schema does not read of an older one."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Types = Mapping[str, Any]  # full name -> record or enumeration, as the package `avro` has it


def lost_in(older: Any, newer: Any) -> list[str]:
    """Return why the newer schema does not read what the older one wrote; empty if it does."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    problem = _problem(next(iter(after.values())), next(iter(before.values())))
    if problem is None:
        return []
    alike = [(before[name], after[name]) for name in before if name in after]
    found = [
        one for was, becomes in alike if was.type == becomes.type for one in _lost(was, becomes)
    ]
    return found or [problem]


def _lost(was: Any, becomes: Any) -> Iterator[str]:
    """Yield what the newer one of two records, or of two enumerations, does not read."""
    if was.type == "enum":
        if gone := [one for one in was.symbols if one not in becomes.symbols]:
            yield f"{becomes.name} does not have {', '.join(gone)} any more"
        return
    for field in becomes.fields:
        name, old = f"{becomes.name}.{field.name}", was.fields_dict.get(field.name)
        if old is None:
            if not field.has_default:
                yield f"{name} is new and has no default: give it one"
        elif _problem(field.type, old.type) is not None:
            shown = _shown(old.type), _shown(field.type)
            if shown[0] != shown[1]:  # else the reason is in a type that both name
                yield f"{name} was {shown[0]}, and becomes {shown[1]}"


def _problem(reader: Any, writer: Any) -> str | None:
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

    checker: Any = ReaderWriterCompatibilityChecker  # untyped, and its annotations are wrong
    found = checker().get_compatibility(reader, writer)
    if found.compatibility is SchemaCompatibilityType.compatible:
        return None
    return f"{'; '.join(sorted(found.messages))} (at {max(found.locations, key=len)})"


@lru_cache(maxsize=64)
def _types(schema: str) -> Types:
    from avro.name import Names  # a package that nothing else needs
    from avro.schema import make_avsc_object

    names = Names()
    make_avsc_object(json.loads(schema), names)
    return names.names


def _shown(schema: Any) -> str:
    if schema.type == "union":
        return " or ".join(map(_shown, schema.schemas))
    if schema.type == "array":
        return f"a list of {_shown(schema.items)}"
    if schema.type == "map":
        return f"a map of {_shown(schema.values)}"
    return str(getattr(schema, "name", schema.type))


def gone_from(older: Any, newer: Any) -> list[str]:
    """Return the fields of records that only the older schema has: Avro reads on without them."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    return [
        f"{before[name].name}.{field}"
        for name in before
        if name in after
        for field in getattr(before[name], "fields_dict", ())
        if field not in getattr(after[name], "fields_dict", ())
    ]
