"""What a first spec may know of a table: its columns, and the codes of those that somebody says are public."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import hint_at
from gedp.errors import Fault, FaultsError
from gedp.neighbors.choosing import Candidate
from gedp.policy.drafting import TableShape
from gedp.policy.reading import AS_WRITTEN, Reading


def columns_of(source: str | Path, reading: Reading = AS_WRITTEN, *, of_texts: bool = True) -> dict[str, str]:
    """Every column of a table and what it can be: "a number", "a code" or both; "neither".

    Without `of_texts` none of a text or the like: its first line, which has the names, may be a record.
    """
    engine = LocalEngine(source, reading)
    if not (of_texts or engine.has_schema):
        return {}
    kinds = {(True, True): "a code or a number", (True, False): "a code", (False, True): "a number"}
    return {
        name: kinds.get((engine.can_be_public(name), engine.can_be_amount(name)), "neither")
        for name in engine.columns()
    }


def read_shape(
    source: str | Path,
    public: Sequence[str],
    *,
    id: str | None = None,  # noqa: A002 - as in the spec
    attributes: Sequence[str] | None = None,
    protect: Mapping[str, Candidate] | None = None,
    reading: Reading = AS_WRITTEN,
    yes_no: Sequence[str] = (),
) -> TableShape:
    """The shape of a table. Of confidential columns only names and types are read.

    Without `attributes` all other columns of numbers are confidential; of a text, all other columns. `yes_no` are
    further attributes, which hold 0 and 1 alone.
    """
    engine = LocalEngine(source, reading)
    known, faults = engine.columns(), list[Fault]()
    said = {
        "public": public,
        "id": [id] if id else [],
        "attributes": attributes or [],
        "protect": list(protect or ()),
        "yes_no": yes_no,
    }
    for option, names in said.items():
        for name in names:
            if name not in known:
                faults.append(Fault(option, f"there is no column {name!r}", hint_at(engine, name)))
            elif option in ("public", "id") and not engine.can_be_public(name):
                faults.append(Fault(option, f"{name!r} has a type that no code has", "Leave it out"))
            elif option in ("attributes", "yes_no") and not engine.can_be_amount(name):
                faults.append(Fault(option, f"{name!r} has a type that no number has", "Leave it out"))
    others = [name for name in known if name not in public and name != id and engine.can_be_amount(name)]
    numbers = [name for name in others if engine.is_number(name)] or others  # in a text, any column may be one
    chosen = list(dict.fromkeys([*(numbers if attributes is None else attributes), *yes_no]))
    if attributes is None and not engine.has_schema and any(map(_is_number, chosen)):
        hint = "Give the table a first line with names, or name the attributes"
        faults.append(Fault("attributes", "names of columns are numbers, as if the first line were a record", hint))
    decided_twice = [name for name in dict.fromkeys(yes_no) if name in said["protect"]]
    named = Counter([*dict.fromkeys(public), *said["id"], *chosen, *decided_twice])
    for name in (name for name, times in named.items() if times > 1):
        faults.append(Fault("columns", f"{name!r} is named as two things", "Choose one of them"))
    if not chosen and not faults:
        faults.append(Fault("attributes", "no column is left that could be a confidential number", "Name one"))
    if faults:
        raise FaultsError(str(source), faults)
    codes = {name: engine.distinct(name) for name in public}
    decimals = {name: engine.decimals(name) for name in chosen}
    return TableShape(str(source), codes, decimals, id, protect or {}, reading, yes_no)


def _is_number(name: str) -> bool:
    try:
        float(name.replace(",", "."))
    except ValueError:
        return False
    return True
