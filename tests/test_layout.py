"""The shape of the repository: who may know whom, and what the rules must not know."""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.documents import PAGES
from verdict.lazy_imports import homes_of

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "schemas": {"verdict"},
    "commands": {"schemas", "verdict"},
    "aggregates": {"commands", "schemas", "verdict"},
    "projections": {"schemas", "verdict"},
    "compose": {"schemas", "commands", "aggregates", "projections", "verdict"},
    "examples": {"schemas", "commands", "aggregates", "compose", "verdict"},
}
# the wings of the engine: each imports only wings above it in this list
WINGS = (
    "model",
    "wire",
    "settings",
    "adapters",
    "client",
    "streaming",
    "write_side",
    "read_side",
    "reactions",
    "service",
    "operations",
    "http",
    "cli",
    "testing",
)
# the package itself, and the modules next to the wings
EXEMPT = {"", "errors", "lazy_imports", "projections", "readers"}
# imports that still point the other way; this list only gets shorter
UPWARD: dict[str, str] = {}
# what applications, clients and their tests import
FACES = (
    "verdict",
    "verdict.cli",
    "verdict.client",
    "verdict.errors",
    "verdict.model",
    "verdict.projections",
    "verdict.readers",
    "verdict.settings",
    "verdict.testing",
)
MOST_NAMES = 30
OURS = {*MAY_IMPORT, "verdict", "tests", "benchmarks", "bootstrap"}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "manager", "core", "misc"}
INFRASTRUCTURE = {"pyspark", "confluent_kafka", "sqlalchemy", "pandas", "pyarrow", "lmdb"}
OF_A_BUSINESS = re.compile(
    r"(?<![A-Za-z])(US|POS|PRIME|NASDAQ|us_holders?|invoices?|loyalty|enrolments?|tickers?"
    r"|participants?|shipments?|tills?|client_recent_order|program_tally|open_positions)(?![A-Za-z])"
)
CHANCE = {"time", "random", "secrets"}
CHANCE_CALLS = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom"}
SURROUNDINGS = {"environ", "getenv", "argv"}
MODEL = (ROOT / "tests" / "comparison.py", *(ROOT / "tests" / "model").glob("*.py"))


def modules(package: str) -> list[Path]:
    """Return the files of a package, sub-folders included."""
    return sorted((ROOT / package).rglob("*.py"))


def rules_of(package: str) -> list[Path]:
    """Return the files at the top of a package: its rules; the rest is in sub-folders."""
    return sorted((ROOT / package).glob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    """Yield the full names of what a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it points"
            yield node.module or ""


def packages_of(path: Path) -> set[str]:
    """Return the top-level names of what a file imports."""
    return {name.partition(".")[0] for name in imports_of(path)}


def names_in(path: Path) -> set[str]:
    """Return every attribute that a file reads and every name that it imports from somewhere."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imported = [node.names for node in nodes if isinstance(node, ast.ImportFrom)]
    return attributes | {alias.name for names in imported for alias in names}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_follow_the_flow(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}

    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in (packages_of(path) & OURS) - allowed
    }
    assert wrong == set()


def wing_of(module: str) -> str:
    """Return `adapters` of `verdict.adapters.kafka.reader`."""
    return f"{module}..".split(".")[1]


def dotted(path: Path) -> str:
    """Return the dotted name of a module, a package's own name for its `__init__`."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def points_upward(module: str, imported: str) -> bool:
    ours, theirs = wing_of(module), wing_of(imported)
    if {ours, theirs} & EXEMPT or not imported.startswith("verdict."):
        return False
    return {ours, theirs} == {"write_side", "read_side"} or WINGS.index(theirs) > WINGS.index(ours)


def test_a_wing_imports_only_wings_above_it() -> None:
    """Imports inside of functions count, too. `write_side` and `read_side` never meet."""
    found = {
        module: {name for name in imports_of(path) if points_upward(module, name)}
        for path in modules("verdict")
        for module in [dotted(path)]
    }

    assert {module: " ".join(sorted(names)) for module, names in found.items() if names} == UPWARD


def test_every_module_of_the_engine_is_in_a_wing() -> None:
    assert {wing_of(dotted(path)) for path in modules("verdict")} == {*WINGS, *EXEMPT}


def test_the_architecture_page_names_the_wings_in_their_order_and_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("| wing | what it has |")[2].partition("\n\n")[0]
    named = [
        name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    files = re.findall(r"`((?:model|settings|write_side|read_side|http|cli)/[\w/]+\.py)`", page)

    assert named == [*WINGS]
    assert files
    assert [name for name in files if not (ROOT / "verdict" / name).is_file()] == []


def of_the_engine(path: Path) -> set[str]:
    names = {name for name in imports_of(path) if name.startswith("verdict.")}
    return {name for name in names if wing_of(name) != "model"}


def of_the_infrastructure(path: Path) -> set[str]:
    return packages_of(path) & INFRASTRUCTURE


def of_chance(path: Path) -> set[str]:
    return (packages_of(path) & CHANCE) | (names_in(path) & CHANCE_CALLS)


def of_the_surroundings(path: Path) -> set[str]:
    return names_in(path) & SURROUNDINGS


def of_an_application(path: Path) -> set[str]:
    return packages_of(path) & MAY_IMPORT.keys()


RULES = [path for package in ("schemas", "commands", "aggregates") for path in rules_of(package)]
PURE = [path for package in ("schemas", "aggregates", "projections") for path in rules_of(package)]
LAYERS = [path for package in [*MAY_IMPORT][:4] for path in modules(package)]


@pytest.mark.proves("F-15")
@pytest.mark.parametrize(
    ("files", "found"),
    [
        (rules_of("aggregates"), of_the_engine),
        (RULES, of_the_infrastructure),
        (PURE, of_chance),
        (LAYERS, of_the_surroundings),
        (MODEL, of_an_application),
        (modules("verdict"), of_an_application),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_does_not_know_what_it_must_not_know(
    files: Sequence[Path], found: Callable[[Path], set[str]]
) -> None:
    """Rules: engine, infrastructure, clock. The model and the engine: any business."""
    wrong = {f"{path.relative_to(ROOT)} knows {name}" for path in files for name in found(path)}

    assert wrong == set()


@pytest.mark.parametrize("package", [*MAY_IMPORT, "tests"])
def test_no_module_has_a_name_that_says_nothing(package: str) -> None:
    names = {
        part for path in modules(package) for part in path.relative_to(ROOT).with_suffix("").parts
    }

    assert names & FORBIDDEN_NAMES == set()


@pytest.mark.parametrize("folder", ["schemas", "commands", "aggregates"])
def test_one_file_stem_is_one_aggregate_in_every_folder(folder: str) -> None:
    stems = {path.stem for path in rules_of(folder)}

    assert set(APPLICATION.aggregate_types) <= stems


def said_in(path: Path) -> Iterator[str]:
    """Yield the names and texts in the code of a file, without docstrings and examples."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value.partition("such as")[0]
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def test_the_engine_speaks_of_no_business() -> None:
    """`order` and `position` are words of its own, too; migrations know earlier tables."""
    wrong = {
        f"{path.relative_to(ROOT)}: {said}"
        for path in modules("verdict")
        if path.name != "migrations.py"
        for said in said_in(path)
        if OF_A_BUSINESS.search(said)
    }
    assert wrong == set()


def engine_s_imports(name: str, code: str) -> set[str]:
    """Return what code imports of the engine from elsewhere than its public face."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    found = {node.module or "" for node in nodes}
    engine = {one for one in found if one.partition(".")[0] == "verdict"}
    return {f"{name} imports {one}" for one in engine.difference(FACES)}


def test_an_application_imports_the_public_face_of_the_engine_alone() -> None:
    files = [path for folder in MAY_IMPORT for path in modules(folder)]

    wrong = [engine_s_imports(str(path.relative_to(ROOT)), path.read_text()) for path in files]
    assert set().union(*wrong) == set()


def test_what_is_shown_in_the_documents_imports_the_public_face_alone() -> None:
    shown = [(page.path.name, code) for page in PAGES for code in page.blocks("python")]
    programs = [(name, code) for name, code in shown if not code.startswith("# from ")]

    assert programs
    assert set().union(*(engine_s_imports(name, code) for name, code in programs)) == set()


@pytest.mark.parametrize("name", FACES)
def test_a_public_module_names_what_is_there(name: str) -> None:
    """What type checkers read, what is loaded when it is used, and `*` are the same names."""
    face = import_module(name)

    assert homes_of(name).keys() <= {*face.__all__}
    assert [one for one in face.__all__ if not hasattr(face, one)] == []
    assert len(face.__all__) <= MOST_NAMES


def test_a_public_name_has_one_public_module() -> None:
    every = Counter(name for face in FACES for name in import_module(face).__all__)

    assert [name for name, count in every.items() if count > 1] == []


def raised_by(name: str, public: object) -> Iterator[str]:
    """Yield what the docstring of a public name says that it raises, and those of its methods."""
    methods = vars(public).values() if isinstance(public, type) else ()
    for one in (public, *methods):
        told = (getattr(one, "__doc__", None) or "").partition("Raises:\n")[2].partition("\n\n")[0]
        for names in re.findall(r"^ +(\w+(?:, \w+)*): ", told, re.MULTILINE):
            yield from (f"{name} raises {raised}" for raised in names.split(", "))


@pytest.mark.parametrize("face", FACES)
def test_what_a_public_module_raises_is_public(face: str) -> None:
    """Callers can catch what they are told of; pydantic's own error is known by its name."""
    public = {name: import_module(name) for name in FACES}
    known = {*dir(builtins), "ValidationError"}.union(*(one.__all__ for one in public.values()))
    told = [
        one
        for name in public[face].__all__
        for one in raised_by(name, getattr(public[face], name))
        if one.rpartition(" ")[2] not in known
    ]

    assert told == []
