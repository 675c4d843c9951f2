"""A `java` that hangs is no missing one."""

from pathlib import Path

import pytest

from verdict.adapters.local import java
from verdict.errors import EnvironmentIncompleteError


@pytest.mark.process
def test_a_java_that_does_not_answer_is_distinguished_from_one_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, missing = tmp_path / "java", tmp_path / "none"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o700)
    monkeypatch.setattr(java, "ANSWER_S", 0.1)

    assert java.java_version(missing) is None
    with pytest.raises(EnvironmentIncompleteError, match="did not answer within"):
        java.java_version(hanging)
