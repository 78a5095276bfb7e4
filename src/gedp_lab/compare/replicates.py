"""Many replicates, each a file in a closed folder that is written when it is whole.

So an interrupted run goes on where it stopped, and a finished one is summarised again without drawing. Replicates have
noise of their own; what they draw stays in memory and is forgotten as soon as it is compared.
"""

import json
import secrets
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gedp._version import __version__
from gedp.confidential.sealing import sealed
from gedp.errors import DomainError, GedpError, Refused
from gedp.files import private_file
from gedp.folders import held, make_private
from gedp.policy import Spec
from gedp.progress import Progress, silent
from gedp_lab.compare.comparison import Comparison, compare_replicates
from gedp_lab.compare.plan import ComparisonPlan, make_plan
from gedp_lab.compare.rehearsals import Preparation, prepare_replicates, replicate, true_groups
from gedp_lab.compare.results import ResultOrder
from gedp_lab.compare.workers import Work, run_numbered, usual_workers
from gedp_lab.evaluate.folder import Stamp, require_private, write_stamped

REPLICATES = 34  # the paper's
PLAN, KEY, FILES, GROUPS = "plan.json", "fingerprint.key", "replicates", "groups.parquet"
KEY_BYTES = 32


@dataclass(frozen=True)
class ReplicateFolder:
    """The folder that holds the replicates of one plan, their groups, and the plan itself."""

    path: Path
    stamp: Stamp

    def file(self, number: int) -> Path:
        """Where the errors of one replicate are."""
        return self.path / FILES / f"{self.stamp.prefix}{number:04d}.parquet"

    @property
    def groups(self) -> Path:
        """Where the keys and true values of all groups are."""
        return self.path / FILES / f"{self.stamp.prefix}{GROUPS}"

    def missing(self, count: int) -> list[int]:
        """Which of the first `count` replicates are not there yet."""
        return [number for number in range(count) if not self.file(number).exists()]

    def key(self) -> bytes:
        """The key of the fingerprint: random, and known in this folder alone. A new one if nothing was begun."""
        try:
            return bytes.fromhex((self.path / KEY).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return secrets.token_bytes(KEY_BYTES)

    def levels(self, fingerprint: str) -> list[str] | None:
        """The names of the levels, if replicates were begun. Rejects those of another plan, and a folder of others."""
        require_private(self.path)
        try:
            if not self.path.exists() or all(_is_beginning(p) for p in self.path.iterdir()):
                return None
            noted = json.loads((self.path / PLAN).read_text(encoding="utf-8"))
            found, levels = noted["fingerprint"], [str(name) for name in noted["levels"]]
        except (OSError, ValueError, KeyError, TypeError):
            raise Refused(f"{self.path} already exists and holds something else. Choose another folder") from None
        if found != fingerprint:
            raise Refused(
                f"{self.path} has replicates of another table, spec or choice of options, or of another version. "
                "Repeat the command that made it, or name another folder with --out"
            )
        return levels

    def begin(self, plan: ComparisonPlan, prepared: Preparation, fingerprint: str, key: bytes) -> list[str]:
        """Notes what the replicates are of; returns the names of the levels."""
        levels = [level.name for level in prepared.levels]
        noted = {
            "gedp": __version__,
            "created": _now(),
            "classification": self.stamp.text,
            "fingerprint": fingerprint,
            "levels": levels,
            "keys": {level.name: level.by for level in prepared.levels},
            **plan.described(),
        }
        make_private(self.path)
        with private_file(self.path / KEY) as file:  # first: without it, the plan could not be told from another
            file.write(key.hex().encode())
        with private_file(self.path / PLAN) as file:
            file.write((json.dumps(noted, indent=2, ensure_ascii=False) + "\n").encode())
        make_private(self.groups.parent)
        write_stamped(self.groups, true_groups(plan, prepared), self.stamp)
        return levels

    def tidy(self) -> None:
        """Removes what was being written when a process was killed."""
        with suppress(OSError):
            for path in (self.path / FILES).glob(".*.tmp"):
                path.unlink(missing_ok=True)


def compare(
    spec: Spec,
    truth: str | Path,
    *,
    out: str | Path,
    replicates: int = REPLICATES,
    workflows: Sequence[str] | None = None,
    attributes: Sequence[str] | None = None,
    by: Sequence[Sequence[str]] | None = None,
    sweep: str | None = None,
    seed: int | None = None,
    maps: Path = Path(),
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Draws as many replicates of every workflow as are not in the folder `out` yet, and compares them with the truth.

    `truth` is the table that a release would be made from: a Parquet or CSV file or a glob. `maps` is the folder of the
    map files that the spec names. With more than one worker, processes are started, so a script that calls this needs
    the usual `if __name__ == "__main__"`.
    """
    if replicates < 1:
        raise DomainError("at least one replicate is needed")
    if workers is not None and workers < 1:
        raise DomainError("at least one worker is needed")
    plan = make_plan(
        spec,
        str(truth),
        folder=maps,
        workflows=workflows,
        attributes=attributes,
        by=by,
        sweep=sweep,
        seed=seed,
    )
    return compare_plan(plan, Path(out), replicates, workers, progress)


def compare_plan(
    plan: ComparisonPlan, out: Path, replicates: int, workers: int | None = None, progress: Progress | None = None
) -> Comparison:
    """The same for a plan that is made."""
    folder = ReplicateFolder(out, plan.stamp)
    levels = run_replicates(plan, folder, replicates, workers or usual_workers(), progress or silent)
    order = ResultOrder(
        [setting.name for setting in plan.settings],
        [workflow.name for workflow in plan.workflows],
        list(plan.figures),
        levels,
    )
    confidence = float(plan.spec.output.confidence)
    files = [folder.file(number) for number in range(replicates)]
    about = {"created": _now(), "levels": levels, **plan.described()}
    return compare_replicates(files, folder.groups, order, folder.path, plan.stamp, confidence, about)


@sealed
def run_replicates(
    plan: ComparisonPlan, folder: ReplicateFolder, count: int, workers: int, progress: Progress
) -> list[str]:
    """Makes the replicates that are not there yet, and lost groups; returns the names of the levels."""
    key = folder.key()
    fingerprint = plan.fingerprint(key)
    levels = folder.levels(fingerprint)
    if levels is not None and folder.groups.exists() and not folder.missing(count):
        return levels
    table = plan.open_table()
    prepared = prepare_replicates(plan, table)
    levels = folder.begin(plan, prepared, fingerprint, key)
    with held(folder.path):
        _fill(plan, prepared, folder, count, workers, progress)
    return levels


def _fill(
    plan: ComparisonPlan, prepared: Preparation, folder: ReplicateFolder, count: int, workers: int, progress: Progress
) -> None:
    missing = folder.missing(count)
    done = count - len(missing)
    progress("replicates", done, count)
    try:
        with closing(run_numbered(partial(_prepare_work, plan, prepared, folder), missing, workers)) as finished:
            for _ in finished:
                done += 1
                progress("replicates", done, count)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | GedpError):
            error.add_note(f"{done} of {count} replicates are finished and kept; the same command goes on from there")
        raise
    finally:
        folder.tidy()


def _prepare_work(plan: ComparisonPlan, prepared: Preparation, folder: ReplicateFolder) -> Work:
    """What one worker does for each number. It opens the table once."""
    table = plan.open_table()

    @sealed
    def work(number: int) -> None:
        write_stamped(folder.file(number), replicate(plan, table, prepared, number), folder.stamp)

    return work


def _is_beginning(path: Path) -> bool:
    """Whether this is what a comparison leaves that was stopped before its plan was there."""
    return path.name == KEY or path.name.startswith((f".{KEY}.", f".{PLAN}."))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
