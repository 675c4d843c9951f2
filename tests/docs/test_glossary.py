"""The field's words: each has one sentence, and names that they replaced do not come back."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRY = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SENTENCE = re.compile(r"(?:[^.`]|`[^`]+`)+\.")
MOST_ENTRIES = 40
IN_USE = " (in use)"  # the mark of a former name that is still to be replaced
LINES = (Path(__file__).parent / "former_names.txt").read_text().splitlines()
FORMER = {line.removesuffix(IN_USE) for line in LINES}
STILL_IN_USE = {line.removesuffix(IN_USE) for line in LINES if line.endswith(IN_USE)}
FORMER_PREFIXES = ("see_that_", "refuse_")


@cache
def names() -> dict[str, str]:
    """Return each name that `verdict/` gives to a file, class, function or field, and one place."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "verdict").rglob("*.py")):
        place = path.relative_to(ROOT)
        of_path = place.with_suffix("").parts
        for name in (*of_path, *defined(ast.parse(path.read_text()))):
            found.setdefault(name, str(place))
    return found


def defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names of classes and functions, of what a module assigns, and of fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        if isinstance(node, ast.ClassDef | ast.Module):
            for one in node.body:
                targets = one.targets if isinstance(one, ast.Assign) else []
                targets += [one.target] if isinstance(one, ast.AnnAssign) else []
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def is_former(name: str) -> bool:
    return name in FORMER or name.lstrip("_").startswith(FORMER_PREFIXES)


def test_no_former_name_comes_back() -> None:
    found = {name: place for name, place in names().items() if is_former(name)}

    assert {name: found[name] for name in found.keys() - STILL_IN_USE} == {}


def test_the_list_of_names_in_use_only_gets_shorter() -> None:
    assert sorted(STILL_IN_USE - names().keys()) == [], "remove their mark"


@pytest.mark.parametrize("word", ["event", "quarantined", "progress record"])
def test_the_glossary_explains_a_word(word: str) -> None:
    assert word in {entry for entry, _ in entries()}


def test_the_glossary_fits_on_a_page_with_one_sentence_each() -> None:
    words = [word for word, _ in entries()]

    assert words == sorted(words)
    assert 0 < len(words) <= MOST_ENTRIES
    assert [word for word, meaning in entries() if not SENTENCE.fullmatch(meaning)] == []


def entries() -> list[tuple[str, str]]:
    return [(word, meaning) for word, meaning in ENTRY.findall(GLOSSARY.read_text())][1:]
