"""The reference is what the code says, and every promise has a proof in `make test`."""

import re
from importlib import import_module

import pytest

import verdict
from docs.generate import FOLDER, pages
from docs.proofs import PROMISES, promises, proofs
from docs.python_reference import MODULES

IN_CHAOS = {"F-16"}  # it needs a load of minutes to say anything


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Return what `make reference` would write."""
    return pages()


def test_the_reference_is_what_the_code_says(written: dict[str, str]) -> None:
    there = {path.name: path.read_text() for path in FOLDER.iterdir()}

    differ = [name for name in {*there, *written} if there.get(name) != written.get(name)]
    assert sorted(differ) == [], "run `make reference`"


def test_every_name_has_a_sentence(written: dict[str, str]) -> None:
    bare = r"^\| `[^`]+` \|(?: [^|]* \|)* +\|$"  # the last cell is what it means

    assert re.findall(bare, written["settings.md"], re.MULTILINE) == []


def test_every_mark_names_a_promise_that_is_made() -> None:
    assert sorted(set(proofs()) - set(promises())) == []


def test_every_promise_is_proven_by_make_test() -> None:
    """`make test-all`, `make thorough` and `make chaos` prove more of the same."""
    unproven = {
        promise
        for promise in promises()
        if not any(proof.run_by == "make test" for proof in proofs().get(promise, []))
    }

    assert unproven == IN_CHAOS


def test_a_promise_has_one_id_and_no_id_two_promises() -> None:
    named = re.findall(r"^(?:- \*\*|\| )([A-Z]-\d\d) ", PROMISES.read_text(), re.MULTILINE)

    assert sorted(named) == sorted(promises())


def test_every_public_name_of_python_has_an_entry(written: dict[str, str]) -> None:
    entries = set(re.findall(r"^### (\S+)$", written["python.md"], re.MULTILINE))

    named = {f"{name}.{one}" for name in MODULES for one in import_module(name).__all__}
    assert entries == named
    assert [name for name in MODULES[1:] if f"`{name}`" not in (verdict.__doc__ or "")] == []
