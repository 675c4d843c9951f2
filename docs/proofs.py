"""Prints which tests prove which promise: read from marks on the tests, without running them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROMISES = ROOT / "GUARANTEES.md"
TITLE = re.compile(r"^(?:- \*\*|\| )([A-Z]-\d\d) ([^*|]+)", re.MULTILINE)
LATER = {"campaign": "make chaos", "thorough": "make thorough", "long": "make test-all"}


class Proof(NamedTuple):
    """A test that proves a promise.

    `run_by` is what runs it: `make test`, which runs those of `make check` as well, or later.
    """

    promise: str
    file: str
    test: str
    run_by: str


def promises() -> dict[str, str]:
    """Return the title of each promise of GUARANTEES.md by its id, in the order of the file."""
    return {id: title.strip(" .") for id, title in TITLE.findall(PROMISES.read_text())}


@cache
def proofs() -> dict[str, list[Proof]]:
    """Return the proofs of each promise that a test is marked with, sorted by file."""
    found = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text()
        if "mark.proves(" in text:
            for proof in _proofs_in(path.relative_to(ROOT).as_posix(), ast.parse(text)):
                found[proof.promise].append(proof)
    return dict(found)


def _proofs_in(file: str, tree: ast.Module) -> Iterator[Proof]:
    of_all = [mark for node in tree.body if _name(node) == "pytestmark" for mark in _marks(node)]
    run_by = _run_by(of_all)
    yield from (Proof(promise, file, "", run_by) for promise in _proven(of_all))
    for node in ast.walk(tree):
        if (name := _name(node)) and name != "pytestmark":
            marks = [*_marks(node)]
            for promise in _proven(marks):
                yield Proof(promise, file, name, _run_by([*of_all, *marks]))


def _name(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _marks(node: ast.AST) -> Iterator[ast.expr]:
    """Yield each `pytest.mark.…` of a test, called or not, but for those of single parameters."""
    match node:
        case ast.FunctionDef(decorator_list=marking) | ast.ClassDef(decorator_list=marking):
            several = [one for one in marking if "parametrize" not in ast.unparse(one)]
        case ast.Assign(value=value):
            several = [value]
        case _:
            several = []
    for one in several:
        for part in ast.walk(one):
            if isinstance(part, ast.Call | ast.Attribute):
                yield part


def _proven(marks: list[ast.expr]) -> Iterator[str]:
    for mark in marks:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.proves":
            yield from (ast.literal_eval(promise) for promise in mark.args)


def _run_by(marks: list[ast.expr]) -> str:
    names = {mark.attr for mark in marks if isinstance(mark, ast.Attribute)}
    return next((command for name, command in LATER.items() if name in names), "make test")


def _lines() -> Iterator[str]:
    for promise, title in promises().items():
        yield f"{promise} {title}"
        for proof in proofs().get(promise, []):
            later = "" if proof.run_by == "make test" else f" ({proof.run_by})"
            yield f"  {'::'.join(filter(None, (proof.file, proof.test)))}{later}"


if __name__ == "__main__":
    print("\n".join(_lines()))
