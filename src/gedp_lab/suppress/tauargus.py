"""Secondary suppression by tau-Argus, run as a program of its own on files.

The package `pytauargus` brings the command `tauargus`, under a licence of its own (EUPL); nothing of it is imported. It
takes one table with a hierarchy on each side. Keys that refine each other are one side, such as counties or industries,
and the table has every combination of the levels of all sides. A part that is alone in its whole is left out, since it
is that whole.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, sum_by
from gedp_lab.suppress.linked import LinkedTables, refines
from gedp_lab.suppress.outside import MINUTES, ProgramCall

COMMAND = "tauargus"
NAME = "tau-Argus"
MISSING = (
    f"secondary suppression by {NAME} needs the program {COMMAND}. Get it with pip install pytauargus, in an "
    f"environment of its own whose {COMMAND} is on the PATH"
)
METHODS = {"optimal": "OPT(1,{minutes})", "modular": "MOD(1,{minutes},1,1,1)"}
TOTAL, ALL = "T", "Total"
STEM = "cells"
RESULT = f"{STEM}.csv"
HIDDEN = frozenset([*range(3, 10), 11, 12])  # how the program numbers sensitive cells, and cells hidden besides
GRACE = 120  # seconds to end by itself when its time is over


@dataclass(frozen=True, repr=False)
class Side:
    """One side of the table: keys from coarse to fine, and the node of every row and level in one tree."""

    keys: tuple[str, ...]
    node: tuple[CodeArray, ...]  # of every row at each level, with that of the total first
    parent: dict[int, int]

    @property
    def is_flat(self) -> bool:
        """Whether all nodes are directly below the total."""
        return all(parent == 0 for parent in self.parent.values())

    def lines(self, below: int = 0, depth: int = 0) -> Iterator[str]:
        """The tree as a hierarchy file has it: one line for each node, with a sign for each step down."""
        for node, parent in self.parent.items():
            if parent == below:
                yield "@" * depth + _code(node)
                yield from self.lines(node, depth + 1)


def call_in(folder: Path, minutes: int = MINUTES) -> ProgramCall:
    """The call of the program on the PATH; `folder` is closed."""
    return ProgramCall(folder, COMMAND, minutes)


def suppress(
    tables: LinkedTables,
    keys: Sequence[Sequence[str]],
    codes: Mapping[str, CodeArray],
    values: FloatArray,
    call: ProgramCall,
    method: str = "modular",
) -> BoolArray:
    """The cells that the program hides. `keys` are those of every level, `codes` those of the rows for every key."""
    program, sides = call.found(MISSING), make_sides(codes)
    with call.files() as folder:
        _write(folder, tables, sides, keys, values, METHODS[method].format(minutes=call.minutes))
        call.run(NAME, [program, "run", f"{STEM}.arb"], folder, RESULT, GRACE)
        hidden = _read(folder)
    return _by_cell(tables, sides, keys, hidden)


def make_sides(codes: Mapping[str, CodeArray]) -> list[Side]:
    """The keys, put together where one refines the other."""
    chains: list[list[str]] = []
    for key in sorted(codes, key=lambda key: int(codes[key].max(initial=0))):
        fitting = [chain for chain in chains if refines(codes[key], codes[chain[-1]])]
        if fitting:
            fitting[0].append(key)
        else:
            chains.append([key])
    return [_side(chain, codes) for chain in chains]


def _side(chain: Sequence[str], codes: Mapping[str, CodeArray]) -> Side:
    rows = len(codes[chain[0]])
    above, nodes, parent, last = np.zeros(rows, dtype=np.int32), [np.zeros(rows, dtype=np.int32)], {}, 0
    for key in chain:
        of_code = np.zeros(int(codes[key].max(initial=-1)) + 1, dtype=np.int32)
        of_code[codes[key]] = above
        parts = np.bincount(of_code, minlength=last + 1)
        node = np.where(parts[of_code] == 1, of_code, last + 1 + np.arange(len(of_code))).astype(np.int32)
        parent.update({int(n): int(p) for n, p in zip(node, of_code, strict=True) if n != p})
        last += len(of_code)
        above = node[codes[key]]
        nodes.append(above)
    return Side(tuple(chain), tuple(nodes), parent)


def _write(
    folder: Path,
    tables: LinkedTables,
    sides: Sequence[Side],
    keys: Sequence[Sequence[str]],
    values: FloatArray,
    how: str,
) -> None:
    needs: dict[tuple[int, ...], float] = {}
    for place, by in enumerate(keys):
        own = tables.level(place)
        for nodes, need in zip(_nodes_of_cells(tables, sides, place, by), tables.needs[own], strict=True):
            needs[nodes] = max(needs.get(nodes, 0.0), float(need))
    with (folder / f"{STEM}.tab").open("w", encoding="utf-8") as file:
        for nodes, value, count in _product(sides, values):
            need = needs.get(nodes, 0.0)
            status = "U" if need > 0 else "S"
            names = ";".join(_code(node) if node else ALL for node in nodes)
            file.write(f"{names};{value:.15g};{count};{status};0;{need:.15g}\n")
    described = ['<SEPARATOR> ";"', "<SAFE> S", "<UNSAFE> U", "<PROTECT> P"]
    for number, side in enumerate(sides):
        described += [f"side{number}", "  <RECODEABLE>", f'  <TOTCODE> "{ALL}"']
        if not side.is_flat:
            (folder / f"side{number}.hrc").write_text("\n".join(side.lines()) + "\n", encoding="utf-8")
            described += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "side{number}.hrc"', '  <HIERLEADSTRING> "@"']
    described += ["value", "  <NUMERIC>", "  <DECIMALS> 6", "freq", "  <FREQUENCY>", "status", "  <STATUS>"]
    described += [
        "lower",
        "  <NUMERIC> <LOWERPL>",
        "  <DECIMALS> 6",
        "upper",
        "  <NUMERIC> <UPPERPL>",
        "  <DECIMALS> 6",
    ]
    (folder / f"{STEM}.rda").write_text("\n".join(described) + "\n", encoding="utf-8")
    quoted = "".join(f'"side{number}"' for number in range(len(sides)))
    batch = [
        f'<OPENTABLEDATA> "{STEM}.tab"',
        f'<OPENMETADATA> "{STEM}.rda"',
        f'<SPECIFYTABLE> {quoted}|"value"||',
        "<SAFETYRULE>",
        "<READTABLE>",
        f"<SUPPRESS> {how}",
        f'<WRITETABLE> (1,3,AS+,"{RESULT}")',
    ]
    (folder / f"{STEM}.arb").write_text("\n".join(batch) + "\n", encoding="utf-8")


def _product(sides: Sequence[Side], values: FloatArray) -> Iterator[tuple[tuple[int, ...], float, int]]:
    """Every cell of the whole table once: its nodes, its value, its establishments."""
    seen: set[tuple[int, ...]] = set()
    shape = [len(side.node) for side in sides]
    for levels in np.ndindex(*shape):
        nodes = np.column_stack([side.node[level] for side, level in zip(sides, levels, strict=True)])
        cells, of_row = np.unique(nodes, axis=0, return_inverse=True)
        totals = sum_by(of_row.ravel().astype(np.int32), values, len(cells))
        counts = np.bincount(of_row.ravel(), minlength=len(cells))
        for cell, value, count in zip(map(tuple, cells.tolist()), totals, counts, strict=True):
            if cell not in seen:
                seen.add(cell)
                yield cell, float(value), int(count)


def _nodes_of_cells(
    tables: LinkedTables, sides: Sequence[Side], place: int, by: Sequence[str]
) -> list[tuple[int, ...]]:
    """The nodes of every cell of a level, one for each side."""
    own = tables.level(place)
    columns = []
    for side in sides:
        depth = max((side.keys.index(key) + 1 for key in by if key in side.keys), default=0)
        nodes = np.zeros(own.stop - own.start, dtype=np.int32)
        nodes[tables.cell_of_row[place]] = side.node[depth]
        columns.append(nodes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _read(folder: Path) -> set[tuple[int, ...]]:
    """The nodes of the cells that the program hid."""
    with (folder / RESULT).open(encoding="utf-8", newline="") as file:
        rows = [[text.strip() for text in row] for row in csv.reader(file) if row]  # codes are padded to one width
    return {tuple(0 if code == ALL else int(code[1:]) for code in row[:-2]) for row in rows if int(row[-1]) in HIDDEN}


def _by_cell(
    tables: LinkedTables, sides: Sequence[Side], keys: Sequence[Sequence[str]], hidden: set[tuple[int, ...]]
) -> BoolArray:
    result = np.zeros(tables.count, dtype=bool)
    for place, by in enumerate(keys):
        result[tables.level(place)] = [nodes in hidden for nodes in _nodes_of_cells(tables, sides, place, by)]
    return result


def _code(node: int) -> str:
    return f"{TOTAL}{node}"
