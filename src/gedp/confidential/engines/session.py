"""A Spark session for confidential tables: needs a Java, keeps what it writes encrypted, and shows nobody anything."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gedp.errors import GedpError, Refused, how_to_install

JAVA = 17
#: All cores of this machine; a task is tried up to four times.
HERE = "local[*,4]"
ROWS_A_RECORD = 100_000

#: Nothing that a session holds is to be seen in a page, a log of events, or a temporary file.
PRIVATE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.io.encryption.enabled": "true",
    "spark.executor.syncLogLevel.enabled": "true",
}
SETTINGS = {
    "spark.app.name": "gedp",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_A_RECORD),
}


class SparkEndedError(GedpError):
    """The process behind a session is gone."""


@contextmanager
def new_session(master: str | None = None, more: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A session on this machine, or on the cluster that `master` names, until it is left; with `more` settings."""
    require_spark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if (master or HERE).startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # nobody else can reach it
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise Refused("a Spark session is open already. Give it, or stop it")
    builder = SparkSession.builder.master(master or HERE)
    quiet = f"-Dlog4j2.configurationFile=file:{Path(__file__).with_name('log4j2.properties')}"
    settings = {**SETTINGS, **PRIVATE, "spark.driver.extraJavaOptions": quiet, **(more or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        session = _started(builder)
        session.sparkContext.setLogLevel("OFF")
        session.sparkContext._accumulatorServer.handle_error = lambda *_: None  # a traceback where Java has died
        with until_left(session):
            yield session


@contextmanager
def until_left(session: Any) -> Iterator[None]:
    """Stops a session at the end. Whatever fails once its Java has died is told as that, with all notes."""
    failure = None
    try:
        yield
    except Exception as error:
        if session.sparkContext._gateway.proc.poll() is None:
            raise
        failure = error
    finally:
        with suppress(Exception):  # there may be nothing left to stop
            session.stop()
    if failure is not None:
        ended = SparkEndedError("Spark has ended: its Java was killed, or had too little memory")
        for note in getattr(failure, "__notes__", ()):  # such as that budget is spent
            ended.add_note(note)
        raise ended from None


def _started(builder: Any) -> Any:
    try:
        return builder.getOrCreate()
    except Exception as error:
        kind = type(error).__name__
    raise Refused(f"Spark did not start ({kind}); nothing was spent. Check --master and SPARK_HOME")


def require_spark() -> None:
    """Rejects, in one sentence, to go on without PySpark or without a Java that it can use."""
    if find_spec("pyspark") is None:
        raise Refused(f"Spark is not installed here. Get it with: {how_to_install('spark')}")
    java = _java()
    if java is None:
        raise Refused(f"Spark needs Java {JAVA} or newer, and there is none. Install it, or set JAVA_HOME")
    version = java_version(java)
    if version < JAVA:
        raise Refused(f"Spark needs Java {JAVA} or newer; {java} is version {version}. Set JAVA_HOME to another")


def java_version(java: str) -> int:
    """The version of a Java; 0 where it cannot be told."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
