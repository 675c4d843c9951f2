"""A Spark session with all settings that verdict's streams need, on this machine or a cluster."""

import atexit
import logging
import os
import pwd
import shlex
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext, accumulators
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from verdict.adapters.local import permissions
from verdict.adapters.local.class_data_sharing import class_archive
from verdict.adapters.local.jars import spark_jars
from verdict.adapters.local.java import ENGLISH, LOCALE, find_java
from verdict.adapters.spark.query_settings import local_path
from verdict.errors import VerdictError
from verdict.settings.checks import SECRET

LOG4J = Path(permissions.__file__).with_name("quiet.log4j2.xml")
LOG = "spark.log"
STATE_STORE = "spark.sql.streaming.stateStore"

# The better compiler works for minutes, on few cores at the expense of the queries.
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
FEW_CORES = 2
# After five minutes without a collection, G1 gives free memory back to the machine (JEP 346). By
# default it collects on demand only, and keeps up to 70 % of the heap free.
SHRINKING = (
    "-XX:G1PeriodicGCInterval=300000", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=30",
)  # fmt: skip
LOOPBACK = "127.0.0.1"

PYTHON = "spark.pyspark.python"
EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"

SOCKET_PATH_BYTES = 100  # macOS takes 103, Linux 107

STREAMING = {
    f"{STATE_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",  # costs a read per write
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 * 2**20),  # else 50,000 of any size
    # A sort takes all that it may before it goes to the disk, while slices hold their state.
    "spark.memory.fraction": "0.3",
    "spark.sql.streaming.metricsEnabled": "true",
    # between pools
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # else INT96, which is deprecated
    "spark.hadoop.fs.permissions.umask-mode": "077",  # Hadoop's own, whatever the process has
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    # plans show the options of a source; by default only some of the secrets are masked
    "spark.sql.redaction.options.regex": r"(?i)url|^kafka[.](?!bootstrap[.]servers$)",
}


def spark_session(  # noqa: PLR0913  (each is a setting that somebody chooses)
    app_name: str,
    cores: int,
    shuffle_partitions: int,
    driver_memory: str,
    local_dir: Path,
    extra: Mapping[str, str] | None = None,
    keep_open: Sequence[int] = (),
    master: str | None = None,
    more_jars: Sequence[Path] = (),
) -> SparkSession:
    """Return a session; the first one of a process starts its JVM.

    The JVM ends with this process, SIGKILL included, and Ctrl-C in the terminal does not reach it:
    stop the session, then leave. Later sessions run in the same JVM, with its `driver_memory` and
    `local_dir`.
    """
    local_dir = local_dir.absolute()
    temporary = local_dir / "tmp"
    if SparkContext._gateway is None:  # else the running JVM may use it
        _clear(local_dir)
    permissions.keep_to_ourselves()
    temporary.mkdir(parents=True, exist_ok=True)
    _prepare_environment()
    _silence_broken_connections()
    jars, sockets = [*spark_jars(), *more_jars], _folder_of_sockets(temporary)
    java_tmp = temporary if master is None else sockets
    settings = {
        **STREAMING,
        "spark.app.name": app_name,
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": shlex.join(_driver_options(java_tmp, cores, jars)),
        "spark.local.dir": str(local_dir),
        "spark.sql.warehouse.dir": local_path(local_dir / "warehouse"),
        # Hadoop loads classes from the class path too; "spark.jars" would copy each one
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",
        **(_on_this_machine(cores, sockets) if master is None else {}),
        **(extra or {}),
        **({} if master is None else _on_a_cluster(master, jars, extra or {})),
    }
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = _gateway(conf, local_dir / LOG, keep_open)
    _ensure_user_name(gateway)
    try:
        context = SparkContext(conf=conf, gateway=gateway)
    except Py4JJavaError as error:
        raise VerdictError(
            f"Spark does not start as it is set: {error.java_exception.getMessage()} (spark_master "
            f"and the table `spark`); {local_dir / LOG} has all of it"
        ) from error
    session = SparkSession(context)
    _without_checksums(session)
    return session


def _on_this_machine(cores: int, sockets: Path) -> dict[str, str]:
    """Return the settings of one JVM that only this user may enter."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers take the first python3 on PATH
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.authenticate": "true",  # with a secret of this run
        # over TCP anybody on this machine could speak to the state of a task first
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(sockets),
        # Hadoop starts a `chmod` for every file without its native library, which pyspark lacks
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    }


def _on_a_cluster(master: str, jars: Sequence[Path], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for executors on other machines, with the chosen ones."""
    # PySpark looks at the environment only
    python = chosen.get(PYTHON) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python
    ours = _java_options(int(chosen.get("spark.executor.cores", FEW_CORES + 1)))
    theirs = chosen.get(EXECUTOR_OPTIONS, "")  # Java takes the last of two
    return {
        "spark.master": master,
        EXECUTOR_OPTIONS: f"{shlex.join(ours)} {theirs}".strip(),
        "spark.jars": ",".join(jar.as_uri() for jar in jars),
        "spark.python.unix.domain.socket.enabled": "true",
        **{f"spark.executorEnv.{name}": value for name, value in LOCALE.items()},
        # `_without_checksums` does not reach executors, and `.crc` files must not be copied
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
        # so fast the tasks of a machine that vanished move to others
        "spark.network.timeout": "20s",
        "spark.network.timeoutInterval": "5s",
        "spark.executor.heartbeatInterval": "5s",
        **{name: value for name, value in chosen.items() if name != EXECUTOR_OPTIONS},
    }


def _clear(local_dir: Path) -> None:
    for left in local_dir.iterdir() if local_dir.is_dir() else ():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        elif left.name != LOG:
            left.unlink()


def _without_checksums(session: SparkSession) -> None:
    """Let this JVM write no `.crc` files: a kill between a file and its `.crc` would damage it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    configuration = session.sparkContext._jsc.hadoopConfiguration()
    files = jvm.org.apache.hadoop.fs.FileSystem.getLocal(configuration)
    files.setWriteChecksum(False)
    files.setVerifyChecksum(False)


def jvm_exit_code(session: SparkSession) -> int | None:
    """Return the exit code of the JVM of `session`, or None while it runs."""
    code: int | None = session.sparkContext._gateway.proc.poll()  # type: ignore[union-attr]
    return code


def end_jvm() -> None:
    """End Spark's JVM, whose session is stopped; return when it has ended."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _driver_options(temporary: Path, cores: int, jars: Sequence[Path]) -> list[str]:
    home = [] if _has_name() else [f"-Duser.home={temporary}"]
    archive = class_archive("spark", find_java(), [*jars, Path(_find_spark_home(), "jars")])
    ours = [*SHRINKING, f"-Djava.io.tmpdir={temporary}", *home, *archive]
    return [*_java_options(cores), *ours]


def _java_options(cores: int) -> list[str]:
    options = [f"-Dlog4j2.configurationFile={LOG4J.as_uri()}", *ENGLISH]
    return [*options, QUICK_COMPILER] if cores <= FEW_CORES else options


def _folder_of_sockets(temporary: Path) -> Path:
    """Return a folder for sockets that only this user can enter."""
    if _fits_sockets(temporary):
        return temporary
    # the same one for each start on a data directory, so that killed processes leave only one
    name = blake2b(os.fsencode(temporary), digest_size=8).hexdigest()
    folder = Path("/tmp", f"verdict-{os.getuid()}-{name}")  # $TMPDIR may have capitals too
    if SparkContext._gateway is None:  # else the running JVM may use it
        shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:  # or it is somebody else's
        folder = Path(tempfile.mkdtemp(prefix="verdict-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _fits_sockets(folder: Path) -> bool:
    """Tell whether Unix domain sockets can be in `folder`.

    A Python worker of PySpark 4.2.1 lower-cases the path (`EvalConf` in `pyspark/worker.py`), and
    systems take little more than 100 characters.
    """
    path = str(folder / f".{uuid.UUID(int=0)}.sock")
    return path == path.lower() and len(path.encode()) <= SOCKET_PATH_BYTES


def _gateway(conf: SparkConf, log: Path, keep_open: Sequence[int]) -> object:
    if SparkContext._gateway is not None:
        return SparkContext._gateway
    # everybody on this machine can read the command line; SparkContext passes the secrets
    seen = [(name, value) for name, value in conf.getAll() if not SECRET.search(name)]
    shown = SparkConf(loadDefaults=False).setAll(seen)
    # SparkContext would leave the JVM's stderr on the terminal
    with log.open("ab") as said:
        try:
            gateway: object = launch_gateway(  # type: ignore[no-untyped-call]
                shown, {"stdout": said, "stderr": said, "pass_fds": tuple(keep_open)}
            )
        except PySparkRuntimeError as error:
            raise VerdictError(f"the JVM of Spark did not start; it says why in {log}") from error
    return gateway


def _silence_broken_connections() -> None:
    """Let PySpark print no traceback when the JVM is gone, which `jvm_exit_code` reports."""

    def log_quietly(server: object, request: object, client_address: object) -> None:
        logging.getLogger("verdict.adapters.spark").debug("Spark is cut off", exc_info=True)

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = log_quietly  # type: ignore[assignment,method-assign]


def _ensure_user_name(gateway: JavaGateway) -> None:
    """Give Hadoop a user name, if this user has no entry in passwd: it would refuse to start."""
    if not _has_name():
        users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(str(os.getuid())))


def _has_name() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def _prepare_environment() -> None:
    os.environ.update(LOCALE)
    # workers import the application from the same places
    former = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(Path.cwd()), *former]))
    java = find_java()
    if java.parent.parent != Path(os.environ.get("JAVA_HOME", "")):
        # JAVA_HOME is unset or too old, and spark-submit would prefer it to the one on PATH
        os.environ.pop("JAVA_HOME", None)
