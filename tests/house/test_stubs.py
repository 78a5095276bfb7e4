"""What `stubs/` tells mypy of pyarrow is so, of the pyarrow that is installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest

STUBS = Path(__file__).parents[2] / "stubs"
#: The stubs may tell less than there is: fewer parameters, or fewer ways to give them.
LESS = "stub does not have|is not keyword-only|has a default value but stub|is a disjoint base at runtime"
#: `io.BufferedReader` asks for a parameter of this one and never calls it.
NEVER_CALLED = "pyarrow.NativeFile.truncate"


def wrong(stubs: Path) -> set[str]:
    """The names of which stubs tell what is not so, by the check that comes with mypy, which takes some seconds."""
    result = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "--ignore-missing-stub", "pyarrow"],
        cwd=stubs.parent,
        env={**os.environ, "MYPYPATH": str(stubs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not result.stderr, result.stderr
    return {line.split()[0] for line in result.stdout.splitlines() if not re.search(LESS, line)}


def test_the_stubs_name_nothing_that_pyarrow_lacks(tmp_path: Path) -> None:
    """Two things that it lacks are named besides, a function and a parameter, so that a check of nothing is noticed."""
    stubs = shutil.copytree(STUBS, tmp_path / "stubs")
    with (stubs / "pyarrow" / "compute.pyi").open("a", encoding="utf-8") as file:
        file.write("def nonsense() -> None: ...\ndef ceil(x: Array, /, nonsense: int) -> Array: ...\n")
    assert wrong(stubs) == {NEVER_CALLED, "pyarrow.compute.nonsense", "pyarrow.compute.ceil"}


NUMBERS, TEXTS, LISTS = pa.array([1.0, None]), pa.array(["a", None]), pa.array([["a"], None])
TRUTHS = pa.array([True, False])
CALLS: dict[str, tuple[Any, ...]] = {
    "cast": (NUMBERS, pa.string()),
    "fill_null": (NUMBERS, 0.0),
    **dict.fromkeys(("is_null", "is_valid", "is_nan"), (NUMBERS,)),
    "invert": (TRUTHS,),
    **dict.fromkeys(("is_in", "index_in"), (TEXTS, TEXTS)),
    **dict.fromkeys(("and_", "or_"), (TRUTHS, TRUTHS)),
    **dict.fromkeys(("equal", "less", "less_equal", "greater", "greater_equal", "add", "multiply"), (NUMBERS, 1.0)),
    "if_else": (TRUTHS, "b", TEXTS),
    "replace_with_mask": (TEXTS, TRUTHS, pa.array(["b"])),
    "list_element": (LISTS, 0),
    "binary_join_element_wise": (TEXTS, TEXTS, "-"),
    **dict.fromkeys(("match_substring_regex", "split_pattern"), (TEXTS, "a")),
    "replace_substring_regex": (TEXTS, "a", "b"),
    **dict.fromkeys(("utf8_length", "utf8_trim_whitespace", "utf8_upper"), (TEXTS,)),
    "utf8_lpad": (TEXTS, 5, "0"),
    "utf8_ltrim": (TEXTS, "0"),
    "utf8_slice_codeunits": (TEXTS, 0, 1),
}


def test_every_function_that_is_said_to_keep_the_kind_of_a_column_is_tried() -> None:
    told = (STUBS / "pyarrow" / "compute.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"^def (\w+)\(.*-> _ColumnT", told, re.MULTILINE)) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_columns_in_chunks_stay_in_chunks_and_others_in_one_piece(name: str) -> None:
    function, (column, *others) = getattr(pyarrow.compute, name), CALLS[name]
    assert isinstance(function(column, *others), pa.Array)
    assert isinstance(function(pa.chunked_array([column]), *others), pa.ChunkedArray)
