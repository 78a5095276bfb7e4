"""What the items share: the folder of results, the public data, synthetic states made from it, and replicates."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gedp.policy import Spec
from gedp.progress import Progress, silent

if TYPE_CHECKING:
    from gedp_lab.compare import Comparison

QCEW = "qcew_2016q1.parquet"
DATA_VARIABLE = "GEDP_DATA"  # of the environment: the folder of that file
YEAR, QUARTER = 2016, 1
REPLICATES = 34  # the paper's
STATES = ("RI", "NJ")
SEED = 0
OUT = Path("reproduced")
DEMO = "demo"


@dataclass(frozen=True)
class State:
    """A synthetic state, and where its establishments are."""

    name: str  # postal code, or demo
    fips: str
    path: Path

    @property
    def title(self) -> str:
        """Its name in words."""
        return {"RI": "Rhode Island", "NJ": "New Jersey", DEMO: "demonstration state"}.get(self.name, self.name)


@dataclass(frozen=True)
class Context:
    """What all items of a run share: where results go, and what they are computed from."""

    out: Path = OUT  # folder of results
    data: Path | None = None  # folder with the published QCEW
    replicates: int = REPLICATES
    seed: int = SEED
    state_names: tuple[str, ...] = STATES
    draws: int | None = None  # of a simulation; None: as many as usual
    progress: Progress = field(default=silent, compare=False)

    @property
    def qcew(self) -> Path | None:
        """The published QCEW, if it is there."""
        path = None if self.data is None else self.data / QCEW
        return path if path is not None and path.is_file() else None

    @property
    def of_demo(self) -> str:
        """What to say where results are of the demonstration state."""
        return "" if self.qcew else f"No {QCEW} was found, so this is of the demonstration state."

    @cached_property
    def states(self) -> tuple[State, ...]:
        """Those from the published QCEW; without it the demonstration state. Made when first asked for."""
        from gedp.folders import make_folder

        folder = self.out / "data"
        make_folder(folder)
        if self.qcew is None:
            return (self._demo(folder),)
        return tuple(self._state(self.qcew, name, folder) for name in self.state_names)

    def compare(
        self,
        name: str,
        state: State,
        spec: Spec,
        *,
        workflows: Sequence[str],
        attributes: Sequence[str],
        by: Sequence[Sequence[str]] | None = None,
        replicates: int | None = None,
        sweep: str | None = None,
    ) -> "Comparison":
        """Replicates of workflows on one state, in a folder of their own where they are resumed; and their page."""
        from gedp.folders import make_folder
        from gedp_lab.compare import compare

        folder = self.replicate_folder(name, state)
        make_folder(folder.parent)
        what = f"{name}, {state.title}: replicates"
        found = compare(
            replace(spec, data=replace(spec.data, synthetic=True)),
            state.path,
            out=folder,
            replicates=replicates or self.replicates,
            workflows=workflows,
            attributes=attributes,
            by=by,
            sweep=sweep,
            seed=100 * self.seed + int(state.fips),  # states share no noise
            progress=lambda _, done, total: self.progress(what, done, total),
        )
        found.write()
        return found

    def replicate_folder(self, name: str, state: State) -> Path:
        """The folder of the replicates of a comparison, which a later run goes on with."""
        return self.out / "replicates" / f"{name}-{state.name}-seed{self.seed}"

    def link(self, comparison: "Comparison") -> str:
        """The page of a comparison, relative to the folder of results."""
        from gedp_lab.compare.comparison import PAGE

        return (comparison.folder / PAGE).relative_to(self.out).as_posix()

    def _demo(self, folder: Path) -> State:
        from gedp_lab.synth.demo import FILE_NAME, STATE, make_demo

        path = folder / FILE_NAME
        if not path.exists():
            self.progress("the demonstration state", 0, 0)
            make_demo(folder)
        return State(DEMO, STATE, path)

    def _state(self, qcew: Path, name: str, folder: Path) -> State:
        from gedp_lab.synth.establishments import write_establishments
        from gedp_lab.synth.qcew.fill import fill
        from gedp_lab.synth.qcew.read import read_qcew
        from gedp_lab.synth.qcew.tree import build_tree
        from gedp_lab.synth.states import POSTAL_OF_FIPS, state_fips

        (fips,) = state_fips([name])
        state = State(POSTAL_OF_FIPS[fips], fips, folder / f"{POSTAL_OF_FIPS[fips]}.parquet")
        if not state.path.exists():
            self.progress(f"synthetic {state.title}", 0, 0)
            published = read_qcew([qcew], states=(fips,), own=("5",), year=YEAR, quarter=QUARTER)
            cells = fill(build_tree(published.rows)).cells
            write_establishments(cells, state.path, year=YEAR, quarter=QUARTER, seed=0)
        return state
