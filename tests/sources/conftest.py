"""What reads some sources is an extra: without it tests are skipped, and say so. `make sources` has it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "GEDP_REQUIRE_SOURCES"


def absent(what: str) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"no {what}: `make sources` runs this test")


@pytest.fixture(scope="session")
def require() -> Callable[[str | None], None]:
    """Skips the test if a library is not there."""

    def required(module: str | None) -> None:
        if module is not None and not find_spec(module):
            absent(module)

    return required


@pytest.fixture(scope="session")
def server(require: Callable[[str | None], None]) -> Iterator[Path]:
    """A PostgreSQL of our own, reached by a socket in its folder; not by root, whom it would not serve."""
    require("adbc_driver_postgresql")
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    program = str(binaries[-1]) if binaries else shutil.which("pg_ctl")
    if program is None:
        absent("PostgreSQL")
    assert program is not None
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="gedp-pg-"))
    try:
        folder.chmod(0o711)
        if as_user:
            shutil.chown(folder, "postgres")
        data, init = folder / "data", Path(program).with_name("initdb")
        quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*as_user, str(init), "-D", str(data), "-A", "trust", "-U", "gedp", "--no-sync"], **quiet)
        settings = f"-k {folder} -h '' -F"
        log = str(folder / "log")
        subprocess.run([*as_user, program, "-w", "-D", str(data), "-o", settings, "-l", log, "start"], **quiet)
        try:
            yield folder
        finally:
            subprocess.run([*as_user, program, "-w", "-m", "immediate", "-D", str(data), "stop"], **quiet)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def database(server: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A connection that may do everything, to a database that is empty; the environment leads to it."""
    driver = import_module("adbc_driver_postgresql.dbapi")
    for name, value in {"PGHOST": str(server), "PGUSER": "gedp", "PGDATABASE": "register"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GEDP_DATABASE", raising=False)
    address = f"postgresql:///postgres?host={server}&user=gedp"
    with driver.connect(address, autocommit=True) as above, above.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS register WITH (FORCE)")
        cursor.execute("CREATE DATABASE register")
    with driver.connect("postgresql://", autocommit=True) as connection:
        yield connection
