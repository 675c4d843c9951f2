"""Workers are forked from a process that has imported everything, and has one thread."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

THREADS = """
import sys

import psutil

from verdict.service.worker_daemon import import_all

import_all()
print(psutil.Process().num_threads(), "pandas" in sys.modules, "pyarrow" in sys.modules)
"""


def test_what_is_imported_before_the_fork_starts_no_threads() -> None:
    found = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)

    assert found.stdout == "1 True True\n", found.stderr
