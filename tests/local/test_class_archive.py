from contextlib import suppress
from pathlib import Path

import pytest

from verdict.adapters.local.class_data_sharing import class_archive, recorded


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder."""
    monkeypatch.setattr("verdict.adapters.local.class_data_sharing.cache_folder", lambda: tmp_path)


@pytest.fixture
def java(tmp_path: Path) -> Path:
    java = tmp_path / "java"
    java.write_text("a JVM")
    return java


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "kafka.jar").write_text("classes")
    return tmp_path / "jars"


def written_by_a_jvm(options: list[str]) -> None:
    [option] = options
    name, _, path = option.partition("=")
    assert name == "-XX:ArchiveClassesAtExit"
    Path(path).write_text("what it has loaded")
    Path(path).chmod(0o400)


def record(java: Path, jars: Path) -> list[Path]:
    with recorded() as archives:
        written_by_a_jvm(class_archive("broker", java, [jars]))
    return archives


def test_the_next_jvm_maps_an_archive_of_its_java_and_jars_that_only_this_user_could_write(
    java: Path, jars: Path
) -> None:
    assert class_archive("broker", java, [jars]) == []

    [archive] = record(java, jars)
    assert class_archive("broker", java, [jars]) == [f"-XX:SharedArchiveFile={archive}"]
    assert class_archive("spark", java, [jars]) == []
    archive.chmod(0o666)
    assert class_archive("broker", java, [jars]) == []

    archive.chmod(0o400)
    (jars / "kafka.jar").write_text("other classes")
    assert class_archive("broker", java, [jars]) == []
    record(java, jars)
    java.write_text("another JVM")
    assert class_archive("broker", java, [jars]) == []


def test_what_fails_or_writes_nothing_leaves_nothing(
    tmp_path: Path, java: Path, jars: Path
) -> None:
    before = {*tmp_path.iterdir()}

    with suppress(RuntimeError), recorded():
        written_by_a_jvm(class_archive("broker", java, [jars]))
        raise RuntimeError("Kafka does not start")
    with recorded() as archives:
        class_archive("broker", java, [jars])

    assert archives == []
    assert {*tmp_path.iterdir()} == before
    assert class_archive("broker", java, [jars]) == []
