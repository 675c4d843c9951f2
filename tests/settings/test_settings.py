import json
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.settings.load import (
    InvalidSettingsError,
    load_settings,
    origins,
    unknown_variables,
)
from verdict.settings.settings import Settings
from verdict.wire.topics import LARGEST_BYTES

SECRET = "hunter2-is-planted"


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory that is the working one, in an environment without settings."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"VERDICT_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flag_wins_over_the_environment_over_dotenv_over_toml_over_the_default(
    working_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings(APPLICATION).partitions == 4
    (working_directory / "verdict.toml").write_text("partitions = 5\nshards = 3\n")
    assert load_settings(APPLICATION).partitions == 5
    (working_directory / ".env").write_text("VERDICT_PARTITIONS=6\nVERDICT_CORES=1\n")
    assert load_settings(APPLICATION).partitions == 6
    monkeypatch.setenv("VERDICT_PARTITIONS", "7")
    assert load_settings(APPLICATION).partitions == 7
    assert load_settings(APPLICATION, partitions=8, deployment=None).partitions == 8

    monkeypatch.setenv("VERDICT_APP", "theirs.application:app")
    assert origins(APPLICATION, partitions=8, deployment=None) == {
        "partitions": "flag",
        "app": "environment",
        "cores": ".env",
        "shards": "verdict.toml",
    }


@pytest.mark.proves("U-02")
@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("verdict.toml", "partition = 5", "unknown setting 'partition' (from verdict.toml): did "
         "you mean 'partitions'?"),
        ("verdict.toml", "partitions", "verdict.toml is no TOML: "),
        (".env", "VERDICT_SHARD=5", "unknown setting 'shard' (from .env): did you mean 'shards'?"),
        (".env", "VERDICT_SHARDS=0", "setting 'shards' (from .env): Input should be greater"),
        (".env", 'VERDICT_US_EXCHANGES=["A", B]', "setting 'us_exchanges' (from .env): begins as "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(
    working_directory: Path, file: str, text: str, said: str
) -> None:
    (working_directory / file).write_text(f"{text}\n")

    with pytest.raises(InvalidSettingsError) as raised:
        load_settings(APPLICATION)

    assert str(raised.value).startswith(said)
    assert raised.value.exit_code == 2


def test_only_our_variables_in_dotenv_matter(working_directory: Path) -> None:
    (working_directory / ".env").write_text("POSTGRES_PASSWORD=x\nDEPLOYMENT=other\n")

    assert load_settings(APPLICATION).deployment == "verdict"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kafka_security_protocol": "SASL_SSL"}, "set kafka_user and kafka_password too"),
        ({"kafka_user": "ada", "kafka_password": SECRET}, "set it to SASL_SSL or SASL_PLAINTEXT"),
        ({"kafka_key_file": __file__}, "kafka_certificate_file and kafka_key_file belong together"),
        ({"kafka_ca_file": "/nowhere.pem"}, "setting 'kafka_ca_file'"),
    ],
)
def test_half_a_security_setting_is_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidSettingsError, match=problem) as raised:
        load_settings(APPLICATION, **given)

    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None  # it would show the values


def test_options_of_kafka_pass_through_in_both_ways_of_writing_them(
    working_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (working_directory / "verdict.toml").write_text(
        'kafka.ssl.ca.location = "/ca.pem"\nkafka.socket.keepalive.enable = true\n'
        '[spark_kafka]\n"max.poll.records" = 5\n'
    )

    found = load_settings(APPLICATION)

    assert {name: value.get_secret_value() for name, value in found.kafka.items()} == {
        "ssl.ca.location": "/ca.pem",
        "socket.keepalive.enable": "true",
    }
    assert found.spark_kafka["max.poll.records"].get_secret_value() == "5"
    monkeypatch.setenv("VERDICT_KAFKA", json.dumps({"client.id": "x"}))
    assert load_settings(APPLICATION).kafka["client.id"].get_secret_value() == "x"


@pytest.mark.parametrize("listed", ["NASDAQ, NYSE Arca", '["NASDAQ", "NYSE Arca"]'])
def test_exchanges_may_be_listed_with_commas_or_as_json(
    monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    monkeypatch.setenv("VERDICT_US_EXCHANGES", listed)

    assert load_settings(APPLICATION).chosen["us_exchanges"] == ("NASDAQ", "NYSE Arca")


@pytest.mark.proves("C-11")
@pytest.mark.parametrize("name", ["max_command_bytes", "max_events_bytes"])
def test_what_no_output_could_hold_is_refused_with_the_numbers(name: str) -> None:
    assert load_settings(APPLICATION, **{name: LARGEST_BYTES}).model_dump()[name] == LARGEST_BYTES

    with pytest.raises(InvalidSettingsError) as raised:
        load_settings(APPLICATION, **{name: LARGEST_BYTES + 1})

    assert str(raised.value) == (
        f"setting '{name}' (from flag): 1572865 bytes are more than 1572864: an output may have "
        "4194304, and must hold that twice, in its value and in a header, with all that describes "
        "it"
    )


def test_no_secret_shows_in_the_settings() -> None:
    settings = load_settings(
        APPLICATION,
        kafka_security_protocol="SASL_SSL",
        kafka_user="ada",
        kafka_password=SECRET,
        kafka_key_password=SECRET,
        database_url=f"postgresql://ada:{SECRET}@host/db",
        kafka={"ssl.key.password": SECRET},
        spark_kafka={"sasl.jaas.config": SECRET},
    )

    assert SECRET not in f"{settings!r} {settings} {settings.model_dump_json()}"


def test_a_variable_that_was_meant_for_us_is_warned_of_with_what_was_meant() -> None:
    known = ["PATH", "VERDICT_SHARDS", "verdict_shards", "VERDICT_IVY_SETTINGS"]

    (warning,) = unknown_variables(APPLICATION, [*known, "VERDICT_SHARD"])

    assert "VERDICT_SHARD is none of ours" in warning
    assert "did you mean 'VERDICT_SHARDS'?" in warning


def test_a_data_directory_that_cannot_exist_is_refused_with_a_message(
    working_directory: Path,
) -> None:
    (working_directory / "circle").symlink_to("circle")

    for path, why in (("n" * 300, "File name too long"), ("circle", "Too many levels of symbolic")):
        with pytest.raises(InvalidSettingsError, match=f"{path}' can lead nowhere, {why}"):
            load_settings(APPLICATION, data_dir=path)


@pytest.mark.parametrize("character", [*",*?{}[]\\\n\x7f"])
@pytest.mark.parametrize("setting", ["data_dir", "lake_dir", "shared_dir"])
def test_a_folder_that_spark_would_take_for_others_is_refused_with_its_character(
    working_directory: Path, monkeypatch: pytest.MonkeyPatch, character: str, setting: str
) -> None:
    """Also in the path above a relative folder."""
    (above := working_directory / f"a{character}b").mkdir()
    monkeypatch.chdir(above)

    for folder in (str(above / "data"), "data"):
        with pytest.raises(InvalidSettingsError) as refused:
            load_settings(APPLICATION, **{setting: folder})
        assert f"has {character!r} in it" in str(refused.value)
        assert "\n" not in str(refused.value)


def test_what_people_write_in_names_of_folders_is_taken(working_directory: Path) -> None:
    folder = working_directory / "ü %41#+&'\":;=$!~@^()<>|"

    assert load_settings(APPLICATION, data_dir=str(folder)).data_dir == folder
