"""Which tests run which line, measured once and kept until a source or a test changes."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest

from tools.mutants.changes import SOURCE, Mutant
from tools.mutants.trial import OPTIONS, in_a_child

ROOT = SOURCE.parents[1]
BUILD = ROOT / "build" / "mutants"


@dataclass(frozen=True)
class Covering:
    """Tests with their seconds of processor time, and by file and line those that run it."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def tests(self, mutant: Mutant, seconds: float) -> list[str]:
        """The tests that run what is changed, the room's own and quick ones first, as many as fit into the time."""
        by_line = self.lines.get(mutant.file, {})
        chosen: set[str] = set()
        for first, last in (mutant.lines, mutant.around, (1, max(by_line, default=0))):
            chosen |= {test for line in range(first, last + 1) for test in by_line.get(line, ())}
            if chosen:
                break
        fitting: list[str] = []
        left = seconds
        own = f"tests/{Path(mutant.file).parent}/"
        for test in sorted(chosen, key=lambda test: (not test.startswith(own), self.seconds[test], test)):
            left -= self.seconds[test]
            if fitting and left < 0:
                break
            fitting.append(test)
        return fitting


def measured(folders: Sequence[str], rooms: Sequence[str]) -> Covering:
    """What the tests of these folders run in these rooms."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for folder in folders:
        found = _of_folder(folder, rooms)
        names = list(found["seconds"])
        seconds |= found["seconds"]
        for file, by_line in found["lines"].items():
            for line, places in by_line.items():
                lines[file][int(line)] += [names[place] for place in places]
    return Covering(seconds, lines)


def _of_folder(folder: str, rooms: Sequence[str]) -> Any:
    kept = BUILD / f"covered-{folder}.json"
    digest = _digest([SOURCE, ROOT / "tests" / "helpers", ROOT / "tests" / folder], [*rooms, OPTIONS])
    if kept.exists() and (found := json.loads(kept.read_text(encoding="utf-8")))["digest"] == digest:
        return found
    print(f"which lines do the tests in tests/{folder} run?", flush=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    log = BUILD / f"covered-{folder}.log"
    ended = in_a_child(lambda: _measure(folder, rooms, kept, digest), log)
    if ended != 0:
        raise SystemExit(f"the tests in tests/{folder} have to pass first; see {log.relative_to(ROOT)}")
    return json.loads(kept.read_text(encoding="utf-8"))


def _digest(folders: Sequence[Path], settings: Sequence[Any]) -> str:
    digest = hashlib.sha256(repr(settings).encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _measure(folder: str, rooms: Sequence[str], kept: Path, digest: str) -> int:
    watch = coverage.Coverage(data_file=None, include=[str(SOURCE / room / "*") for room in rooms], config_file=False)
    watching = _Watching(watch)
    watch.start()
    ended = pytest.main([*OPTIONS, f"tests/{folder}"], plugins=[watching])
    watch.stop()
    data = watch.get_data()
    places: dict[str, list[int]] = defaultdict(list)  # of a test; of all the tests of a file
    for place, test in enumerate(watching.seconds):
        places[test].append(place)
        places[test.split("::")[0]].append(place)
    lines = {
        Path(name).relative_to(SOURCE).as_posix(): {
            line: sorted({place for context in contexts if context for place in places[context]})
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for name in data.measured_files()
    }
    found = {"digest": digest, "seconds": watching.seconds, "lines": lines}
    if ended == 0:
        kept.write_text(json.dumps(found), encoding="utf-8")
    return int(ended)


class _Watching:
    """Tells coverage which test runs. What a fixture runs, every test of the file may look at."""

    def __init__(self, watch: coverage.Coverage) -> None:
        self.watch = watch
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.watch.switch_context(item.nodeid.split("::")[0])
        start = time.process_time()  # the same, however busy the machine is
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self.watch.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.watch.switch_context(item.nodeid.split("::")[0])
