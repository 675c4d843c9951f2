"""The notebook runs from top to bottom, and what it shows is what its cells give."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from docs.notebook import NOTEBOOK, run

CELL_LINES = 40


def code_cells(text: str) -> list[Any]:
    return [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_what_is_shown_is_what_its_cells_give_again() -> None:
    there = NOTEBOOK.read_text()
    again = run(there)

    shown = [output["data"] for cell in code_cells(again) for output in cell["outputs"]]
    pictures = [one["image/svg+xml"] for one in shown if "image/svg+xml" in one]
    assert len(pictures) == 2
    for picture in pictures:
        assert len(ElementTree.fromstring("".join(picture)).findall(".//{*}rect")) > 10
    assert again == there, "run `make reference`"


def test_a_cell_can_be_read_at_a_glance() -> None:
    long = [cell for cell in code_cells(NOTEBOOK.read_text()) if len(cell["source"]) > CELL_LINES]

    assert long == []
