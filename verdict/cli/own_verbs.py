"""The verbs of an application, by the text of the module that lists them, which is not run."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from verdict.cli.application import IN_A_CHECKOUT, named
from verdict.model.verb import Verb

SHOWN = ("name", "summary", "panel")


def verbs_by_text() -> list[Verb]:
    """Return the verbs that the application lists as literals; what it computes is not seen."""
    module, _, value = (named() or IN_A_CHECKOUT).partition(":")
    try:
        statements = ast.parse(_text(module)).body
    except (OSError, ValueError, SyntaxError):
        return []  # who loads it says what is wrong
    listed = (_listed_in(node, value) for node in statements)
    return [verb for one in listed if one is not None for verb in _verbs(one)]


def _listed_in(node: ast.stmt, value: str) -> ast.Tuple | ast.List | None:
    """Return the literal that is given as `verbs` to what a statement assigns to `value`."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
        return None
    if value not in {target.id for target in node.targets if isinstance(target, ast.Name)}:
        return None
    given = {keyword.arg: keyword.value for keyword in node.value.keywords}
    found = given.get("verbs")
    return found if isinstance(found, ast.Tuple | ast.List) else None


def _text(module: str) -> str:
    """Return the text of a module as it would be found, but without its packages being run.

    Raises:
        OSError: There is none.
    """
    path = Path(*module.split(".")).with_suffix(".py")
    places = (Path(folder) / path for folder in ("", *sys.path))
    return next((place for place in places if place.is_file()), path).read_text()


def _verbs(sequence: ast.Tuple | ast.List) -> Iterator[Verb]:
    for call in sequence.elts:
        if not isinstance(call, ast.Call):
            continue
        given = dict(zip(SHOWN, call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg in SHOWN}
        texts = {
            name: node.value
            for name, node in given.items()
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if texts.keys() == {*SHOWN}:
            yield Verb(texts["name"], texts["summary"], texts["panel"], module="")
