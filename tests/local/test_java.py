"""A `java` that hangs is no missing one."""

from pathlib import Path

import pytest

from verdict.adapters.local import java
from verdict.errors import EnvironmentIncompleteError


@pytest.mark.process
def test_a_java_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "bin" / "java"
    hanging.parent.mkdir()
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o700)
    monkeypatch.setattr(java, "ANSWER_S", 0.1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(EnvironmentIncompleteError, match="did not answer within"):
        java.find_java()
