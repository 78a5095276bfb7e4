"""Makes a release on a cluster of two hosts, on which a slow task is started a second time: see test_failures."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import gedp
from gedp.confidential import priced
from gedp.confidential.engines.session import new_session
from tests.spark.failing import Slow
from tests.spark.test_spark import large_table, spec_of

ROOT = Path(__file__).resolve().parents[2]
EAGER = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
}


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a cluster with a worker on each of two hosts, which are this machine."""
    import pyspark

    start = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    log = folder / "master.log"
    started: list[subprocess.Popen[bytes]] = []

    def run(host: str, kind: str, *options: str) -> None:
        environment = {**os.environ, "SPARK_LOCAL_HOSTNAME": host, "SPARK_LOCAL_IP": host}
        command = [start, f"org.apache.spark.deploy.{kind}", "--host", host, "--webui-port", "0", *options]
        with log.open("ab") as file:
            started.append(subprocess.Popen(command, env=environment, stdout=file, stderr=file))

    try:
        run("127.0.0.1", "master.Master", "--port", "0")
        address = _said(log, "Starting Spark master at ").split()[0]
        for host in ("127.0.0.1", "127.0.0.2"):
            run(host, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / host), address)
        yield address
    finally:
        for process in started:
            process.kill()


def _said(log: Path, text: str) -> str:
    """What follows this text in a log, once it is there."""
    for _ in range(600):
        if text in (found := log.read_text(errors="replace") if log.exists() else ""):
            return found.partition(text)[2]
        time.sleep(0.1)
    raise TimeoutError(log.read_text(errors="replace"))


def main() -> None:
    folder = Path(sys.argv[1])
    (folder / "marks").mkdir()
    slow = patch.object(priced, "IdentityAnswers", partial(Slow, marks=folder / "marks"))
    with slow, cluster(folder) as address, new_session(address, EAGER) as session:
        frame = session.createDataFrame(large_table(400)).repartition(4)
        gedp.run(spec_of(), frame, out=folder / "out")


if __name__ == "__main__":
    main()
