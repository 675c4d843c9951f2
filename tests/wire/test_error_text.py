"""Where a bug was, in the files of who has to fix it."""

import os
from pathlib import Path

import pytest

from verdict.wire.error_text import error_text


def failing_in(*files: str) -> Exception:
    """Return an error that was raised in the last of these files, called from those before."""
    inner = "def fail(): raise KeyError('boom')"
    fail = None
    for file in reversed(files):
        scope = {"then": fail}
        exec(compile(inner if fail is None else "def fail(): then()", file, "exec"), scope)
        fail = scope["fail"]
    with pytest.raises(KeyError) as failed:
        fail()  # type: ignore[misc]
    # what pytest and this file add to the way there is left out
    traceback = failed.value.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename not in files:
        traceback = traceback.tb_next
    return failed.value.with_traceback(traceback)


STDLIB = str(Path(os.__file__).parent / "json" / "decoder.py")
INSTALLED = str(Path(pytest.__file__).parents[1] / "shop" / "rules.py")


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (("/usr/src/app/rules.py",), "/usr/src/app/rules.py"),
        (("/app/rules.py", STDLIB), "/app/rules.py"),
        (("/app/rules.py", "/app/prices.py"), "/app/prices.py"),
        (("/app/rules.py", INSTALLED), "/app/rules.py"),
        ((INSTALLED, STDLIB), "shop/rules.py"),
    ],
)
def test_a_bug_is_shown_with_its_place(files: tuple[str, ...], place: str) -> None:
    assert error_text(failing_in(*files)) == f"KeyError: 'boom' ({place}, line 1)"


def test_an_error_without_a_known_place_is_shown_without_one() -> None:
    assert error_text(ValueError("odd")) == "ValueError: odd"
