"""With which codes rules refuse, as far as it can be read from where they are written."""

import ast
import inspect
import sys
from collections.abc import Iterator

from verdict.model.aggregate import Aggregate
from verdict.model.message import Message
from verdict.model.refused import Refused

NAMES = (Refused.__name__, f"verdict.{Refused.__name__}")


def codes_of(aggregate: Aggregate[Message]) -> list[str]:
    """Return the codes of `Refused("CODE", …)` in the module of `decide`, sorted.

    A code that is computed, or that another module refuses with, is not among them.
    """
    try:
        source = inspect.getsource(sys.modules[aggregate.decide.__module__])
    except (OSError, TypeError, KeyError):  # no file: it was typed, or comes compiled
        return []
    return sorted(set(_codes(ast.parse(source))))


def _codes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in NAMES:
            match node.args:
                case [ast.Constant(value=str(code)), *_]:
                    yield code
