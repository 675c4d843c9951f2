"""Pieces of Python that depend on names, as `ruff format` writes them whatever their length."""

from collections.abc import Iterable
from itertools import groupby

LINE = 88  # the default of formatters; who has longer lines keeps these by their last comma


def imports(found: Iterable[tuple[str, str]]) -> str:
    """Return the imports of (module, name), sorted."""
    by_module = groupby(sorted(set(found)), key=lambda one: one[0])
    return "\n".join(_import(module, [name for _, name in names]) for module, names in by_module)


def call(called: str, arguments: Iterable[tuple[str, str]]) -> str:
    """Return a call with (name, value) as arguments, in the body of a function."""
    lines = "".join(f"        {name}={value},\n" for name, value in arguments)
    return f"{called}(\n{lines}    )" if lines else f"{called}()"


def union(name: str, members: Iterable[str]) -> str:
    """Return `name = A | B | C`."""
    members = [*members]
    line = f"{name} = {' | '.join(members)}"
    if len(line) <= LINE:
        return line
    inner = f"    {' | '.join(members)}"
    if len(inner) > LINE:
        inner = "\n".join(f"    {'| ' * bool(at)}{one}" for at, one in enumerate(members))
    return f"{name} = (\n{inner}\n)"


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= LINE:
        return line
    return f"from {module} import (\n{''.join(f'    {name},{chr(10)}' for name in names)})"
