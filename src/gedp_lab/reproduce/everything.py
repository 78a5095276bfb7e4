"""All items into one folder: done once, kept, and gone on with after an interruption.

DIR/index.html and one page per item; results.json; a Parquet file for each table of numbers; items/ with finished
items, replicates/ with finished replicates, data/ with the synthetic states.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.errors import Fault, FaultsError, GedpError, Refused
from gedp.files import replacing, write_text
from gedp.folders import make_folder
from gedp_lab.reproduce.context import DATA_VARIABLE, QCEW, Context
from gedp_lab.reproduce.document import index_page, item_page
from gedp_lab.reproduce.results import FAILED, Item, Outcome, Result, result_of

INDEX, RESULTS, FINISHED = "index.html", "results.json", "items"


def require_data(folder: Path | None) -> None:
    """Rejects a folder that was named for the published QCEW and lacks it."""
    if folder is not None and not (folder / QCEW).is_file():
        suggestion = f"Name its folder with --data or {DATA_VARIABLE}, or leave both out"
        raise FaultsError(str(folder), [Fault("data", f"there is no {QCEW}", suggestion)])


def reproduce(
    context: Context,
    items: Sequence[Item],
    only: Sequence[str] = (),
    each: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Runs the items (or those named in `only`; others stay as they are in the folder) and writes everything.

    An item that fails is noted, and the rest goes on.
    """
    _require_ours(context.out)
    make_folder(context.out / FINISHED)
    found: dict[str, Outcome] = {}
    for item in items:
        kept = _kept(context, item)
        if kept is not None:
            found[item.name] = kept
    todo = [item for item in items if item.name in only or not only]
    try:
        for item in todo:
            if item.name not in found:
                found[item.name] = _run_and_keep(context, item)
            each(found[item.name])
            _write(context, [found[other.name] for other in items if other.name in found])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | GedpError):
            finished = sum(item.name in found for item in todo)
            more = "" if hasattr(error, "__notes__") else "; the same command goes on from there"
            error.add_note(f"{finished} of {len(todo)} items are finished and kept{more}")
        raise
    return [found[item.name] for item in todo]


def run_item(context: Context, item: Item) -> Outcome:
    """Runs one item and times it; nothing is written."""
    context.progress(item.title, 0, 0)
    began = time.perf_counter()
    result = item.run(context)
    return Outcome(item, result, time.perf_counter() - began)


def _run_and_keep(context: Context, item: Item) -> Outcome:
    began = time.perf_counter()
    try:
        outcome = run_item(context, item)
    except GedpError as error:
        return Outcome(item, Result("", "not computed", FAILED, str(error)), time.perf_counter() - began)
    for name, table in outcome.result.data.items():
        with replacing(context.out / f"{name}.parquet") as temporary:
            pq.write_table(table, temporary, compression="zstd")
    kept = {"key": _key(context, item), "seconds": outcome.seconds, "result": outcome.result.plain()}
    write_text(_path(context, item), json.dumps(kept, ensure_ascii=False))
    return outcome


def _kept(context: Context, item: Item) -> Outcome | None:
    """What an earlier run of the same found, if its files are there."""
    try:
        kept = json.loads(_path(context, item).read_text(encoding="utf-8"))
        if kept["key"] != _key(context, item):
            return None
        if not all((context.out / name).is_file() for name in kept["result"]["files"]):
            return None
        return Outcome(item, result_of(kept["result"]), float(kept["seconds"]), kept=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(context: Context, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        write_text(context.out / f"{outcome.item.name}.html", item_page(context, outcome))
    write_text(context.out / INDEX, index_page(context, outcomes))
    about = {"gedp": __version__, "replicates": context.replicates, "seed": context.seed, "data": bool(context.qcew)}
    listed = [
        {"name": o.item.name, "title": o.item.title, "seconds": round(o.seconds, 3), **_without_figures(o.result)}
        for o in outcomes
    ]
    whole = {**about, "states": list(context.state_names), "items": listed}
    write_text(context.out / RESULTS, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def _without_figures(result: Result) -> dict[str, object]:
    plain = result.plain()
    return {**plain, "figures": [figure["caption"] for figure in plain["figures"]]}


def _require_ours(folder: Path) -> None:
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not (folder / FINISHED).is_dir()):
        raise Refused(f"{folder} already exists and holds something else. Choose another folder with --out")


def _path(context: Context, item: Item) -> Path:
    return context.out / FINISHED / f"{item.name}.json"


def _key(context: Context, item: Item) -> str:
    """A digest of everything that shapes an item."""
    qcew = context.qcew
    stat = None if qcew is None else (qcew.stat().st_size, qcew.stat().st_mtime_ns)
    parts = [__version__, item.name, item.title, context.replicates, context.seed, context.state_names, stat]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
