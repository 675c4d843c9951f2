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
    """Jars as locked in a file next to them."""
    (tmp_path / "some.lock").write_text(f"broker kafka.jar {SHA256}\n")
    (tmp_path / "jars" / "broker").mkdir(parents=True)
    (tmp_path / "jars" / "broker" / "kafka.jar").write_bytes(JAR)
    return tmp_path / "jars"


def test_every_jar_that_is_not_as_locked_is_named_with_what_was_found_and_wanted(
    folder: Path,
) -> None:
    lock, jar = folder.with_name("some.lock"), folder / "broker" / "kafka.jar"
    verify(folder, lock)
    altered = hashlib.sha256(b"altered").hexdigest()

    for content, found in ((b"altered", altered), (None, "nothing")):
        jar.unlink() if content is None else jar.write_bytes(content)
        jar.with_name("other.jar").write_bytes(JAR)
        with pytest.raises(EnvironmentIncompleteError) as incomplete:
            verify(folder, lock)
        said = str(incomplete.value)
        assert f"the jars in {folder} are not those of some.lock" in said
        assert f"broker/kafka.jar: found {found}, wanted {SHA256}" in said
        assert f"broker/other.jar: found {SHA256}, wanted nothing" in said


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
