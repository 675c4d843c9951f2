"""Whether bytes of an older schema can be read by a newer one; pure.

By the rules of https://avro.apache.org/docs/1.12.0/specification/#schema-resolution, as far as our
schemas have what they speak of.
"""

from collections.abc import Iterator
from typing import Any

from verdict.wire.avro.source import fullname

PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def lost_in(older: Any, newer: Any) -> Iterator[str]:
    """Yield in words why the newer schema does not read all that the older one wrote."""
    yield from _Reading(_named(older), _named(newer)).of(older, newer, "it")


def within(schema: Any, name: str, value: Any) -> Any:
    """Return a value without the fields that a schema does not have."""
    named = _named(schema)
    found = next((one for one in named.values() if one["name"] == name), None)
    return value if found is None else _within(found, value, named)


def _within(schema: Any, value: Any, named: dict[str, Any]) -> Any:
    schema = named.get(_key(schema), schema)
    if isinstance(schema, list):  # of several kinds, of which JSON tells one
        fitting = (
            one for one in schema if _kind(named.get(_key(one), one)) in ("record", "array", "map")
        )
        return _within(next(fitting, "null"), value, named)
    kind = _kind(schema)
    if kind == "record" and isinstance(value, dict):
        types = {field["name"]: field["type"] for field in schema["fields"]}
        return {
            key: _within(types.get(key, "null"), one, named)
            for key, one in value.items()
            if key in types or key == "type"
        }
    if kind == "map" and isinstance(value, dict):
        return {key: _within(schema["values"], one, named) for key, one in value.items()}
    if kind == "array" and isinstance(value, list):
        return [_within(schema["items"], one, named) for one in value]
    return value


def gone_from(older: Any, newer: Any) -> list[str]:
    """Return the fields of records that only the older schema has: Avro reads on without them."""
    before, after = _named(older), _named(newer)
    return [
        f"{before[name]['name']}.{field}"
        for name in before
        if name in after
        for field in _fields(before[name])
        if field not in _fields(after[name])
    ]


class _Reading:
    """One schema read by another; each pair of named types is looked at once."""

    def __init__(self, older: dict[str, Any], newer: dict[str, Any]) -> None:
        self._older = older
        self._newer = newer
        self._seen: set[tuple[str, str]] = set()

    def of(self, older: Any, newer: Any, where: str) -> Iterator[str]:
        """Yield why not."""
        older, newer = self._older.get(_key(older), older), self._newer.get(_key(newer), newer)
        if isinstance(older, list):
            for branch in older:
                yield from self.of(branch, newer, where)
        elif isinstance(newer, list):
            yield from self._one_of(older, newer, where)
        else:
            yield from self._plain(older, newer, where)

    def _one_of(self, older: Any, newer: list[Any], where: str) -> Iterator[str]:
        branches = [self._newer.get(_key(one), one) for one in newer]
        same = [one for one in branches if _is_alike(older, one)]
        if not same:
            found = ", ".join(map(_shown, branches))
            yield f"{where} may be {_shown(older)}, and is none of {found}"
        else:
            yield from self._plain(older, same[0], where)

    def _plain(self, older: Any, newer: Any, where: str) -> Iterator[str]:
        kind = _kind(older)
        if not _is_alike(older, newer):
            yield f"{where} is {_shown(older)}, and becomes {_shown(newer)}"
        elif kind == "record":
            yield from self._record(older, newer)
        elif kind == "enum":
            if gone := [one for one in older["symbols"] if one not in newer["symbols"]]:
                yield f"{where} may be {', '.join(gone)}, which {newer['name']} does not have"
        elif kind == "array":
            yield from self.of(older["items"], newer["items"], f"each of {where}")
        elif kind == "map":
            yield from self.of(older["values"], newer["values"], f"each of {where}")

    def _record(self, older: dict[str, Any], newer: dict[str, Any]) -> Iterator[str]:
        pair = fullname(older), fullname(newer)
        if pair in self._seen:
            return
        self._seen.add(pair)
        there = {field["name"]: field for field in older["fields"]}
        for field in newer["fields"]:
            name = f"{newer['name']}.{field['name']}"
            if (before := there.get(field["name"])) is not None:
                yield from self.of(before["type"], field["type"], name)
            elif "default" not in field:
                yield f"{name} is new and has no default: give it one"


def _named(schema: Any) -> dict[str, Any]:
    """Return the records and enumerations that a schema spells out, by their full names."""
    found: dict[str, Any] = {}
    pending = [schema]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += one
        elif isinstance(one, dict):
            if one["type"] in ("record", "enum"):
                found[fullname(one)] = one
            pending += [field["type"] for field in one.get("fields", ())]
            pending += [one[inner] for inner in ("items", "values") if inner in one]
            pending += [one["type"]] if isinstance(one["type"], dict | list) else []
    return found


def _fields(record: dict[str, Any]) -> list[str]:
    return [field["name"] for field in record.get("fields", ())]


def _key(schema: Any) -> str:
    return schema if isinstance(schema, str) else ""


def _kind(schema: Any) -> str:
    return schema if isinstance(schema, str) else str(schema["type"])


def _shown(schema: Any) -> str:
    return str(schema["name"]) if isinstance(schema, dict) and "name" in schema else _kind(schema)


def _is_alike(older: Any, newer: Any) -> bool:
    """Tell whether one can be read as the other, what is inside of them left aside."""
    was, becomes = _kind(older), _kind(newer)
    if was in ("record", "enum") and was == becomes:
        return bool(older["name"] == newer["name"])
    return was == becomes or becomes in PROMOTED.get(was, ())
