"""A name that would not do is refused in one sentence, before anything is written."""

import sys
from pathlib import Path

import pytest

from verdict.cli.scaffold.files import (
    InvalidNameError,
    class_name,
    require_free_module,
    require_valid_name,
    words_of,
)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Parcel", "take a letter, then at most 29 more letters, digits and _, all in lower case"),
        ("gift-card", "take a letter"),
        ("1st", "take a letter"),
        ("", "take a letter"),
        ("parcel\n", "take a letter"),
        ("straße", "take a letter"),
        ("a" * 31, "take a letter"),
        ("class", "Python uses it"),
        ("list", "Python uses it"),
        ("event", "the files that are written use it"),
    ],
)
def test_what_cannot_be_a_name_is_said(name: str, problem: str) -> None:
    with pytest.raises(InvalidNameError) as refused:
        require_valid_name("aggregate", name)

    assert str(refused.value).startswith(f"aggregate {name!r} cannot have this name: {problem}")


@pytest.mark.parametrize("name", ["calendar", "verdict", "pydantic", "pytest"])
def test_an_application_hides_no_module(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InvalidNameError, match=f"'{name}' cannot have this name: it would hide"):
        require_free_module(name)


def test_a_folder_that_is_there_already_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "my_shop").mkdir()

    require_free_module("my_shop")
    require_free_module("other_shop")


def test_classes_and_sentences_are_made_of_names() -> None:
    names = {"parcel": "Parcel", "gift_card": "GiftCard", "b2b_": "B2b", "a" * 30: f"A{'a' * 29}"}

    for name, kind in names.items():
        require_valid_name("aggregate", name)
        assert class_name(name) == kind
    assert words_of("gift_card") == "gift card"
