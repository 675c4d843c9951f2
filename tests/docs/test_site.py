"""`make docs` builds a site that needs no network, and in which every link leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site import linked
from tests.documents import ROOT


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[a](docs/using.md#ask)", "[a](using.md#ask)"),
        ("[a](../README.md)", "[a](index.md)"),
        ("[a](../../GUARANTEES.md#x)", "[a](../GUARANTEES.md#x)"),
        ("[a](LICENSE)", "[a](LICENSE.md)"),
        ("[a](examples/README.md)", "[a](examples.md)"),
        ("[a](../examples/README.md)", "[a](examples.md)"),
        ("[a](../docs/using.md#ask)", "[a](using.md#ask)"),
        ("[a](../using.md)", "[a](../using.md)"),
    ],
)
def test_links_lead_to_where_pages_lie_in_the_site(written: str, shown: str) -> None:
    assert linked(written) == shown


@pytest.mark.process
@pytest.mark.long
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )

    assert (built.returncode, built.stderr) == (0, "")
    pages = {path.name: path.read_text() for path in tmp_path.rglob("*.html")}
    assert {"index.html", "using.html", "operating.html", "GUARANTEES.html"} <= set(pages)
    loaded = [
        found
        for page in pages.values()
        for found in re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="(https?:[^"]+)"', page)
    ]
    assert loaded == []
