"""Public names that load their modules when they are first used.

So a client waits for no database, and nothing here for Spark.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def load_lazily(
    module: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a public module.

    Args:
        module: Its name.
        homes: Module -> the names in it, separated by blanks.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found: object = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[module], name, found)  # the next use finds it at once
        return found

    return load, lambda: sorted({*vars(sys.modules[module]), *home_of})
