"""Public names that load their modules when they are first used.

So a client waits for no database, and nothing here for Spark.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def homes_of(module: str) -> dict[str, str]:
    """Return the names that a module imports for type checkers only, each with its module."""
    tree = ast.parse(Path(sys.modules[module].__file__ or "").read_text())
    return {
        one.name: found.module or ""
        for block in tree.body
        if isinstance(block, ast.If)
        for found in block.body
        if isinstance(found, ast.ImportFrom)
        for one in found.names
    }


def load_lazily(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a public module: they know `homes_of` it."""
    homes = homes_of(module)

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[module], name, found)  # the next use finds it at once
        return found

    return load, lambda: sorted({*vars(sys.modules[module]), *homes})
