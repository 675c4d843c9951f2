import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

pytestmark = pytest.mark.spark

PARENT = """
import json
import os
import sys
from pathlib import Path

os.getuid = lambda: 2**31 - 9  # a user without a name, as a container may have
from verdict.adapters.spark.session import spark_session
from pyspark.sql.functions import udf

spark = spark_session("test", 1, 1, "512m", Path(sys.argv[1]), {
    "spark.verdict.test": "on", "spark.authenticate.secret": "hush",
})
python = udf(lambda _: sys.executable)
kafka = spark.readStream.format("kafka").option("subscribe", "some")
kafka = kafka.option("kafka.bootstrap.servers", "shown").option("kafka.anything", "hidden")
for _ in sys.stdin:
    print(json.dumps({
        "jvm": spark.sparkContext._gateway.proc.pid,
        "python": spark.range(1).select(python("id")).first()[0],
        "extra": spark.conf.get("spark.verdict.test"),
        "plan": kafka.load()._jdf.queryExecution().toString(),
        "written": spark.range(1).write.mode("append").json(f"{sys.argv[1]}/written"),
        "java": spark.conf.get("spark.driver.extraJavaOptions"),
        "secret": spark.sparkContext.getConf().get("spark.authenticate.secret"),
        "log4j": spark._jvm.java.lang.System.getProperty("log4j2.configurationFile"),
        "user": spark.sparkContext.sparkUser(),
        "home": spark._jvm.java.lang.System.getProperty("user.home"),
        "language": spark._jvm.java.util.Locale.getDefault().getLanguage(),
        "tmp": spark._jvm.java.lang.System.getProperty("java.io.tmpdir"),
    }), flush=True)
"""


LEFT, FORMER = "blockmgr-of-a-killed-one", "said by the one before"


class Session:
    """A Spark session in another process that can be asked about itself."""

    def __init__(self, process: "subprocess.Popen[str]", local_dir: Path) -> None:
        self.process = process
        self.local_dir = local_dir

    def ask(self) -> dict[str, Any]:
        """Run a query and return what the session says of itself."""
        questions, answers = self.process.stdin, self.process.stdout
        assert questions is not None
        assert answers is not None
        print("?", file=questions, flush=True)
        answer: dict[str, Any] = json.loads(answers.readline())
        return answer


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IO[str]]:
    """What the session's process would write to the terminal."""
    with (tmp_path_factory.mktemp("terminal") / "stderr").open("w+") as stderr:
        yield stderr


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, terminal: IO[str]) -> Iterator[Session]:
    local_dir = tmp_path_factory.mktemp("ü ?%41#+&'")
    (local_dir / LEFT / "shuffle").mkdir(parents=True)
    (local_dir / "spark.log").write_text(f"{FORMER}\n")
    command = [sys.executable, "-c", PARENT, str(local_dir)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env=os.environ | {"JAVA_TOOL_OPTIONS": "-Duser.language=tr", "LC_ALL": "tr_TR.UTF-8"},
    ) as process:
        yield Session(process, local_dir)
        process.kill()


@pytest.mark.proves("S-02")
def test_a_plan_hides_the_options_of_kafka(session: Session) -> None:
    plan = session.ask()["plan"]

    assert "kafka.bootstrap.servers=shown" in plan
    assert "kafka.anything=" in plan
    assert "hidden" not in plan


def test_settings_arrive_and_workers_run_our_python(session: Session) -> None:
    answer = session.ask()

    assert answer["python"] == sys.executable
    assert answer["extra"] == "on"
    assert "-XX:TieredStopAtLevel=1" in answer["java"]  # on one core
    assert "-XX:G1PeriodicGCInterval=" in answer["java"]
    assert answer["tmp"] == str(session.local_dir / "tmp")
    assert answer["language"] == "en"
    assert Path(answer["log4j"].removeprefix("file://")).is_file()
    # a user without a name has its id for a name
    assert answer["user"] == str(2**31 - 9)
    assert Path(answer["home"]).is_relative_to(session.local_dir)


def test_no_secret_is_on_a_command_line_which_all_can_read(session: Session) -> None:
    answer = session.ask()

    words = psutil.Process(answer["jvm"]).cmdline()
    assert answer["secret"] == "hush"
    assert "spark.verdict.test=on" in words
    assert "hush" not in " ".join(words)


def test_files_are_whole_and_spark_talks_to_its_log_only(
    session: Session, terminal: IO[str]
) -> None:
    """A kill between a file and its checksum would leave what cannot be read."""
    session.ask()

    names = [file.name for file in (session.local_dir / "written").iterdir()]
    assert "_SUCCESS" in names
    assert not [name for name in names if name.endswith(".crc")]
    assert not (session.local_dir / LEFT).exists(), "what a killed process left"
    terminal.seek(0)
    assert terminal.read() == ""
    log = (session.local_dir / "spark.log").read_text()
    assert log.startswith(FORMER)
    assert "WARN" in log


def test_ctrl_c_does_not_reach_the_jvm_and_sigkill_of_its_parent_does(session: Session) -> None:
    jvm = psutil.Process(session.ask()["jvm"])

    jvm.send_signal(signal.SIGINT)
    assert session.ask()["jvm"] == jvm.pid

    session.process.kill()
    assert jvm in psutil.wait_procs([jvm], timeout=30)[0]


@pytest.mark.process
def test_a_setting_that_spark_refuses_is_named(tmp_path: Path) -> None:
    refused = "{'spark.network.timeout': '20s'}"  # it looks every minute who has timed out
    script = (
        "from pathlib import Path; from verdict.adapters.spark.session import spark_session; "
        f"spark_session('test', 1, 1, '512m', Path({str(tmp_path)!r}), {refused})"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert "VerdictError: Spark does not start as it is set: requirement failed: " in done.stderr
