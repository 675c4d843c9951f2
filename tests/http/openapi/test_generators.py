"""U-04: clients that are generated from `/openapi.json` are whole, and understand the page."""

import json
from pathlib import Path

import pytest

from tests.http.conftest import TOKEN
from tests.http.filled import FLOW, LATE
from tests.http.openapi import generators

pytestmark = [pytest.mark.process, pytest.mark.slow]

IMPORT_ALL = """\
import importlib, pkgutil, generated
found = [one.name for one in pkgutil.walk_packages(generated.__path__, "generated.")]
print(len([importlib.import_module(one) for one in found]))
"""


@pytest.fixture
def written(document: object, tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    return file


@pytest.mark.proves("U-04")
def test_a_client_in_python_imports_and_its_calls_are_understood(
    served: str, written: Path, tmp_path: Path
) -> None:
    generators.python_client(written, tmp_path)
    assert int(generators.with_packages("-c", IMPORT_ALL, path=tmp_path)) > 200

    script = str(Path(__file__).parent / "calls.py")
    told = generators.with_packages(script, served, TOKEN, FLOW, LATE, path=tmp_path)
    assert json.loads(told) == {
        "state": ["OrderState", 10, "ACTIVE"],
        "missing": ["ProblemDetails", 404, "Not Found"],
        "history": ["InvoiceEventInvoiceRecorded"],
        "trace": "award_points",
        "why": ["VERSION_CONFLICT", "first"],
        "rows": [1, "PlaceOrder"],
        "again": True,
        "letters": ["ProblemDetails", "DeadLetterRows"],
        "registry": "order.events-value",
        "sent": [401, 503],
    }


@pytest.mark.proves("U-04")
def test_types_of_typescript_are_whole(written: Path, tmp_path: Path) -> None:
    types = generators.types_of_typescript(written, tmp_path)

    assert "get_state" in types
    assert "send_order_command" in types
    assert "unknown[]" not in types
