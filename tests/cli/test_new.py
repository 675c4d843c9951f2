"""`verdict new`: what it writes passes as it is, and what is there is left alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.documents import ROOT, Document, commands

TUTORIAL = Document("docs/tutorial.md")
# what a person does with the two lines that are printed
ADD = (
    "sed -i -e 's/^from verdict import Application$/&\\nfrom shop.{kind}.{name} import {name}/' "
    "-e 's/    {list}=(/&{name},/' shop/compose/application.py"
)


@pytest.fixture
def folder(environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory, in which no application is named."""
    monkeypatch.delenv("VERDICT_APP", raising=False)
    return environment


def files(folder: Path) -> dict[str, str]:
    """Return what is below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_an_application_has_the_folders_of_every_one(run: Run, folder: Path) -> None:
    """Also next to a .gitignore that somebody else wrote."""
    (folder / ".gitignore").write_text("mine\n")
    new = run("new", "application", "shop", "--aggregate", "parcel")
    parts = {name for name in files(folder) if not name.endswith("__init__.py")}

    assert (new.exit_code, (folder / ".gitignore").read_text()) == (0, "mine\n")
    assert parts == {
        ".gitignore",
        "verdict.toml",
        "shop/schemas/parcel.py",
        "shop/commands/parcel.py",
        "shop/aggregates/parcel.py",
        "shop/compose/application.py",
        "shop/tests/test_parcel.py",
    }
    *wrote, _, replace = new.stderr.splitlines()
    assert wrote == [f"wrote {name}" for name in sorted(files(folder)) if name != ".gitignore"]
    assert replace.endswith(
        "`verdict schemas write --unpublished parcel_event --unpublished parcel_command`"
    )


def test_the_lines_that_add_a_part_to_the_application_are_printed(run: Run, folder: Path) -> None:
    run("new", "application", "shop", "--aggregate", "parcel")
    listing = folder / "shop" / "compose" / "application.py"
    before = listing.read_text()
    new = run("new", "aggregate", "gift_card")

    assert new.exit_code == 0
    assert (
        "add to shop/compose/application.py:\n"
        "    from shop.aggregates.gift_card import gift_card\n"
        "    aggregates=(…, gift_card),\n"
    ) in new.stderr
    assert listing.read_text() == before
    assert "shop/aggregates/gift_card.py" in files(folder)


def test_no_file_is_written_over_and_then_none_is_written(run: Run, folder: Path) -> None:
    run("new", "application", "shop", "--aggregate", "parcel")
    (folder / "shop" / "tests" / "test_box.py").write_text("mine\n")
    before = files(folder)

    for command, there in (
        (("aggregate", "box"), folder / "shop" / "tests" / "test_box.py"),
        (("application", "shop"), folder / "shop" / "__init__.py"),
        (("application", "store"), folder / "verdict.toml"),
    ):
        new = run("new", *command)
        assert new.exit_code == 1
        assert new.stderr == (
            f"verdict: {there} exists already, and no file is ever replaced: nothing was written\n"
        )
    assert files(folder) == before


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("application", "Shop"), "application 'Shop' cannot have this name: take a letter"),
        (("application", "json"), "it would hide the module json of Python"),
        (("application", "x", "--aggregate", "app"), "the files that are written use it"),
        (("aggregate", "app"), "the files that are written use it"),
    ],
)
def test_a_name_that_will_not_do_is_refused_in_a_sentence(
    run: Run, folder: Path, command: tuple[str, ...], problem: str
) -> None:
    run("new", "application", "shop", "--aggregate", "parcel")
    before = files(folder)
    refused = run("new", *command)

    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert problem in refused.stderr
    assert files(folder) == before


def test_an_application_that_is_not_in_this_folder_is_left_alone(run: Run, folder: Path) -> None:
    (folder / "verdict.toml").write_text('app = "shop.compose.application:app"\n')
    elsewhere = run("new", "aggregate", "parcel")

    assert elsewhere.exit_code == 2
    assert "the application shop.compose.application:app is not in this folder" in elsewhere.stderr


def test_an_aggregate_waits_for_no_application_that_can_be_loaded(run: Run, folder: Path) -> None:
    run("new", "application", "shop", "--aggregate", "parcel")
    (folder / "shop" / "aggregates" / "parcel.py").write_text("from shop.schemas.box import Box\n")

    assert run("new", "aggregate", "crate").exit_code == 0


def test_a_new_file_is_open_to_whom_the_user_lets_read(run: Run, folder: Path) -> None:
    """What the service writes is its owner's alone; source is not of that kind."""
    former = os.umask(0o022)
    try:
        run("new", "application", "shop")
    finally:
        os.umask(former)

    assert (folder / "shop" / "compose" / "application.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.process
def test_what_is_written_passes_at_the_first_try(folder: Path) -> None:
    """As a newcomer types it who reads docs/tutorial.md, and with names as long as they may be."""
    *typed, tested = [command for command, _ in commands(TUTORIAL.blocks("console")[1])]
    longest = "an_aggregate_of_thirty_letters"
    longest_projection = "a_new_projection_of_30_letters"
    more = (
        "verdict new projection delivery --of parcel",
        ADD.format(list="projections", kind="projections", name="delivery"),
        f"verdict new aggregate {longest}",
        ADD.format(list="aggregates", kind="aggregates", name=longest),
        "verdict schemas write",
        f"verdict new projection {longest_projection} --of {longest}",
        ADD.format(list="projections", kind="projections", name=longest_projection),
        "ruff check --isolated --select I --fix .",
        "ruff format --isolated .",
        tested,
        "verdict schemas check",
        "verdict describe",
        "ruff check --isolated --select E,F,I,N,UP,B,SIM,RET,PT,RUF,D100 .",
        "ruff format --isolated --check .",
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    ran = subprocess.run(
        ["bash", "-e"],
        input="\n".join([*typed, *more]),
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )

    assert tested == "python -m pytest"
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " 14 passed" in ran.stdout
    assert "OpenParcel, RenameParcel, CloseParcel" in ran.stdout


@pytest.mark.process
@pytest.mark.thorough  # takes a checker through all that is imported
def test_what_is_written_passes_a_strict_type_checker(run: Run, folder: Path) -> None:
    run("new", "application", "shop", "--aggregate", "parcel")
    strict = (sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable)
    checked = subprocess.run(
        [*strict, "shop"],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert checked.returncode == 0, checked.stdout
