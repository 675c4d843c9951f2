"""The public names of Python by module, with their signatures and docstrings.

Signatures are those of the source: what `inspect` shows of types differs between Pythons.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType

from pydantic_settings import BaseSettings

from verdict.lazy_imports import homes_of

MODULES = (
    "verdict",
    "verdict.model",
    "verdict.projections",
    "verdict.client",
    "verdict.readers",
    "verdict.settings",
    "verdict.cli",
    "verdict.testing",
    "verdict.errors",
)
WIDEST = 96
SECTION = re.compile(r"^([A-Z][a-z]+):$", re.MULTILINE)
BOUND = ("self", "cls")
HIDDEN = re.compile(r"ClassVar|init=False")
Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def python_reference() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Python"
    yield ""
    yield "All public names, as the source declares them; no other module of `verdict` is public."
    yield "Methods are below their class. [Errors](errors.md) lists exit codes and HTTP statuses."
    for name in MODULES:
        module = import_module(name)
        yield from ("", f"## {name}", "", *_text(module.__doc__))
        for public in sorted(module.__all__, key=str.lower):
            yield from ("", f"### {name}.{public}", "")
            yield from _entry(public, getattr(module, public), module)


def _entry(name: str, value: object, module: ModuleType) -> Iterator[str]:
    """Yield what a public name is: a signature and a docstring, or a value."""
    value = inspect.unwrap(value) if callable(value) else value
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        yield from _code(*_assigned(name, value, module))
        return
    home = import_module(value.__module__)
    node = next((one for one in _defined(home) if one.name == value.__name__), None)
    if isinstance(node, ast.ClassDef) and inspect.isclass(value):
        yield from _class(name, home, node, value)
    elif isinstance(node, ast.FunctionDef):
        yield from (*_code(f"{name}{_signature(home, node)}"), "", *_text(ast.get_docstring(node)))
    else:
        yield f"`{home.__name__}.{name}`."


@cache
def _source(module: ModuleType) -> tuple[str, ast.Module]:
    source = inspect.getsource(module)
    return source, ast.parse(source)


def _defined(module: ModuleType) -> list[Defined]:
    return [one for one in _source(module)[1].body if isinstance(one, Defined)]


def _written(module: ModuleType, node: ast.AST) -> str:
    """Return a piece of the source on one line."""
    return " ".join((ast.get_source_segment(_source(module)[0], node) or "").split())


def _assigned(name: str, value: object, module: ModuleType) -> list[str]:
    """Return the lines in which the source gives a public name its value."""
    home = homes_of(module.__name__).get(name, module.__name__)
    source, tree = _source(import_module(home))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return (ast.get_source_segment(source, node) or "").splitlines()
    return [f"{name}: {type(value).__name__}"]


def _class(name: str, module: ModuleType, node: ast.ClassDef, kind: type) -> Iterator[str]:
    bases = ", ".join(_written(module, one) for one in node.bases)
    head = f"class {name}{f'({bases})' if bases else ''}"
    yield from (*_code(head, *_made_of(name, module, node, kind)), "")
    yield from _text(ast.get_docstring(node))
    if issubclass(kind, BaseSettings):
        yield "[Settings](settings.md) lists its fields."
    for one in node.body:
        if isinstance(one, Defined) and (doc := ast.get_docstring(one)) and one.name[0] != "_":
            is_method = not isinstance(one, ast.ClassDef) and not _is_property(one)
            shown = _signature(module, one) if is_method else ""
            yield from ("", *_code(f"{name}.{one.name}{shown}"), "", *_text(doc))


def _is_property(node: Defined) -> bool:
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def _made_of(name: str, module: ModuleType, node: ast.ClassDef, kind: type) -> Iterator[str]:
    """Yield how to make an instance, or the fields or words that it has."""
    made = [one for one in node.body if isinstance(one, Defined) and one.name == "__init__"]
    if made:
        yield f"{name}{_signature(module, made[0])}"
    elif issubclass(kind, Enum):
        yield from (f"    {member}" for member in kind.__members__)
    elif not issubclass(kind, BaseSettings):
        fields = [_written(module, one) for one in node.body if isinstance(one, ast.AnnAssign)]
        yield from (f"    {one}" for one in fields if one[0] != "_" and not HIDDEN.search(one))


def _signature(module: ModuleType, node: Defined) -> str:
    """Return parameters and result; those that are wide have a line each."""
    if isinstance(node, ast.ClassDef):
        return ""
    shown = [*_parameters(module, node.args)]
    result = f" -> {_written(module, node.returns)}" if node.returns else ""
    result = "" if node.name == "__init__" else result
    line = f"({', '.join(shown)}){result}"
    if len(line) + len(node.name) <= WIDEST:
        return line
    return "\n".join(("(", *(f"    {one}," for one in shown), f"){result}"))


def _parameters(module: ModuleType, args: ast.arguments) -> Iterator[str]:
    """Yield each parameter as it is written, with its type and default."""
    ordered = [*args.posonlyargs, *args.args]
    defaults = [*[None] * (len(ordered) - len(args.defaults)), *args.defaults]
    for place, (one, default) in enumerate(zip(ordered, defaults, strict=True)):
        if place or one.arg not in BOUND:
            yield _parameter(module, one, default)
        if args.posonlyargs and place == len(args.posonlyargs) - 1:
            yield "/"
    if args.vararg:
        yield f"*{_parameter(module, args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(module, one, default)
    if args.kwarg:
        yield f"**{_parameter(module, args.kwarg, None)}"


def _parameter(module: ModuleType, arg: ast.arg, default: ast.expr | None) -> str:
    given = "" if default is None else f" = {_written(module, default)}"
    return f"{_written(module, arg)}{given}"


def _code(*texts: str) -> Iterator[str]:
    yield from ("```py", *texts, "```")  # signatures, which nothing can run


def _text(doc: str | None) -> Iterator[str]:
    """Yield a docstring's lines; its sections are blocks of text."""
    head, *sections = SECTION.split(inspect.cleandoc(doc or ""))
    yield from head.strip().splitlines()
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield from ("", f"{title}:", "", "```text", *inspect.cleandoc(body).splitlines(), "```")
