import hashlib
from pathlib import Path

import pytest

from verdict.adapters.local.jars import broker_classpath, main, read_lock, spark_jars, verify
from verdict.errors import EnvironmentIncompleteError

JAR = b"the bytes that were tested"
SHA256 = hashlib.sha256(JAR).hexdigest()

NO_REPOSITORY = """
<ivysettings>
  <settings defaultResolver="empty"/>
  <resolvers>
    <filesystem name="empty"><artifact pattern="{folder}/[artifact].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Jars as locked in a file beside them."""
    (tmp_path / "some.lock").write_text(f"broker kafka.jar {SHA256}\n")
    (tmp_path / "jars" / "broker").mkdir(parents=True)
    (tmp_path / "jars" / "broker" / "kafka.jar").write_bytes(JAR)
    return tmp_path / "jars"


def problem(folder: Path) -> str:
    with pytest.raises(EnvironmentIncompleteError) as incomplete:
        verify(folder, folder.with_name("some.lock"))
    return str(incomplete.value)


def test_locked_jars_pass(folder: Path) -> None:
    verify(folder, folder.with_name("some.lock"))


def test_an_altered_jar_is_named_with_what_was_found_and_wanted(folder: Path) -> None:
    (folder / "broker" / "kafka.jar").write_bytes(b"altered")

    found = hashlib.sha256(b"altered").hexdigest()
    assert f"broker/kafka.jar: found {found}, wanted {SHA256}" in problem(folder)


def test_a_missing_jar_is_named(folder: Path) -> None:
    (folder / "broker" / "kafka.jar").unlink()

    said = problem(folder)
    assert f"the jars in {folder} are not those of some.lock" in said
    assert f"broker/kafka.jar: found nothing, wanted {SHA256}" in said


def test_an_unexpected_jar_is_named(folder: Path) -> None:
    (folder / "broker" / "other.jar").write_bytes(JAR)

    assert f"broker/other.jar: found {SHA256}, wanted nothing" in problem(folder)


def test_the_two_class_paths_share_no_folder_and_hold_what_is_locked() -> None:
    broker = Path(broker_classpath()).parent
    spark = spark_jars()

    assert broker not in {jar.parent for jar in spark}
    assert {f"spark/{jar.name}" for jar in spark} | {
        f"broker/{jar.name}" for jar in broker.iterdir()
    } == set(read_lock())


@pytest.mark.process
def test_a_repository_without_the_jars_leaves_nothing_behind_and_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(NO_REPOSITORY.format(folder=tmp_path))
    monkeypatch.setenv("VERDICT_IVY_SETTINGS", str(settings))

    assert main([]) == EnvironmentIncompleteError.exit_code

    said = capsys.readouterr().err
    assert "org.apache.kafka#kafka_2.13;4.3.1: not found" in said
    assert "VERDICT_IVY_SETTINGS" in said
    assert [path for path in cache.rglob("*") if path.is_file()] == []
