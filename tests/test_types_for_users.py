"""The Python that users are shown, as a type checker of theirs sees it: elsewhere, and strict."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import README, Document

# what a block takes from the one before it; and a name that is not there is not let pass
GIVEN = """\
from verdict import NoSuchName as _NoSuchName  # type: ignore[attr-defined]
from verdict.client.pending import Pending as _Pending
pending: _Pending
"""


def is_of_a_user(block: str) -> bool:
    """Return whether a block is whole, and not a part of this application or a file of one."""
    first = block.partition("\n")[0]
    return not (first.startswith("# ") and "/" in first) and bool(ast.parse(block).body)


@pytest.mark.process
@pytest.mark.thorough  # takes a checker through all that users import
def test_what_users_are_shown_passes_a_strict_type_checker(tmp_path: Path) -> None:
    pages = README, Document("docs/using.md")
    shown = [block for page in pages for block in page.blocks("python") if is_of_a_user(block)]
    names = [f"block_{number}.py" for number in range(len(shown))]
    for name, block in zip(names, shown, strict=True):
        (tmp_path / name).write_text(GIVEN + block)
    assert any("Client(app, " in block for block in shown)

    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable, *names],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("MYPY")},
        capture_output=True,
        text=True,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
