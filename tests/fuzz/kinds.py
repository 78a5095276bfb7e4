"""What is changed in the folder of a case, and the commands that are then tried in it."""

import hashlib
import json
import os
import random
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import tomli_w

from gedp.cli import cli
from tests.fuzz.odd import NUMBERS, TEXTS, change_bytes, change_document, change_text
from tests.fuzz.tables import changed_csv, changed_parquet, changed_table
from tests.fuzz.world import FIXED, MAP, SPEC
from tests.helpers.runs import LEDGER

Commands = list[list[str]]


@dataclass(frozen=True)
class Kind:
    """A way of changing the folder. `share` is how often it is chosen.

    `numbers_may_show` says that a change may make the noise small, or declare confidential columns public: then the
    numbers of a release are not looked at for canaries. `forges` says that an edited ledger may be a
    consistent one again, which no file can tell.
    """

    name: str
    share: int
    prepare: Callable[[random.Random, Path], Commands]
    numbers_may_show: bool = False
    forges: bool = False


def spec(chance: random.Random, folder: Path) -> Commands:
    """The spec file, from values that a policy might have to bytes that are no text."""
    path = folder / "spec.toml"
    if chance.random() < 0.4:
        document: Any = tomllib.loads(SPEC)
        for _ in range(chance.choice((1, 2, 4))):
            _plausible(chance, document)
        content = tomli_w.dumps(document).encode()
    elif chance.random() < 0.6:
        document = tomllib.loads(SPEC)
        for _ in range(chance.choice((1, 1, 2, 3))):
            changed = change_document(chance, document)
            with suppress(TypeError, ValueError, AttributeError):  # else TOML has no way to write it
                tomli_w.dumps(changed).encode()
                document = changed
        content = tomli_w.dumps(document).encode()
    elif chance.random() < 0.7:
        text = SPEC
        for _ in range(chance.choice((1, 2, 5))):
            text = change_text(chance, text)
        content = text.encode(chance.choice(("utf-8", "utf-8", "utf-16", "latin-1")), "replace")
    else:
        content = change_bytes(chance, SPEC.encode())
    if chance.random() < 0.05:
        queries = "".join(f'[[queries]]\nname = "q{i}"\nby = ["cnty"]\nmu = 0.001\n' for i in range(300))
        content = SPEC.replace("[microdata]", queries + "[microdata]").encode()
    path.write_bytes(content)
    first = chance.choice((["explain", "spec.toml"], ["run", "spec.toml", "--dry-run", "--force"]))
    more = ["--answers-only"] if chance.random() < 0.6 else []
    return [first, ["run", "spec.toml", "--out", "new", *more]]


def _plausible(chance: random.Random, document: Any) -> None:
    """One setting is another that the reader knows, fit or not."""
    attribute = document["attributes"][chance.choice(("emp", "wage"))]
    query = chance.choice(document["queries"])
    number = chance.choice((1e-9, 1e-4, 0.01, 0.3, 1, 2.5, 40, 1e4, 1e9, 1e15, 1e30, 1e-30))
    match chance.randrange(16):
        case 0:
            attribute["psi"] = chance.choice(("sqrt", "log", "linear"))
        case 1:
            attribute["gamma"] = number
        case 2:
            attribute["shift"] = chance.choice((0, 0.5, 1, 100, 1e9, -1))
        case 3:
            attribute["unit"] = chance.choice((1, 0.01, 0.1, 3, 1e-6, 100, 1e6))
        case 4:
            attribute["signed"] = chance.choice((True, False))
        case 5:
            closeness = {"psi": chance.choice(("sqrt", "log", "linear")), "gamma": number}
            attribute["at_least"] = chance.choice((closeness, [closeness, closeness]))
        case 6:
            query["mu"] = chance.choice((number, {"emp": 0.1}, {"wage": number}, {"emp": 0.1, "wage": 0.2}))
        case 7:
            query["by"] = chance.choice(
                ([], ["cnty"], ["cnty", "naics"], ["sector", "naics2"], ["sector", "cnty", "naics"], "establishment")
            )
        case 8:
            query["mechanism"] = chance.choice(("psi", "pnc", "auto"))
        case 9:
            document["budget"]["mu"] = number
        case 10:
            settings = {"weights": chance.choice(("quasi", "plug-in")), "nonnegative": chance.choice((True, False))}
            document["microdata"] = {**settings, "whole": chance.choice((True, False))}
        case 11:
            attribute[chance.choice(("share", "typical", "person"))] = number
        case 12:
            document["budget"]["spend"] = number
        case 13:
            query["importance"] = chance.choice((number, {"emp": 0.1}, {"wage": number}, 0))
        case 14:
            for each in document["queries"]:
                each.pop("mu", None)
                each.pop("mechanism", None)
        case _:
            document["output"]["confidence"] = chance.choice((0.5, 0.95, 0.999999, 1e-9, 1 - 1e-12))


def _source(folder: Path, name: str) -> None:
    (folder / "spec.toml").write_text(SPEC.replace("t.parquet", name), encoding="utf-8")


def csv(chance: random.Random, folder: Path) -> Commands:
    (folder / "t.csv").write_bytes(changed_csv(chance))
    _source(folder, "t.csv")
    return _runs(chance)


def parquet(chance: random.Random, folder: Path) -> Commands:
    (folder / "t.parquet").write_bytes(changed_parquet(chance))
    return _runs(chance)


def several_files(chance: random.Random, folder: Path) -> Commands:
    """A glob over files, of which one is changed, or is something else."""
    parts = folder / "parts"
    parts.mkdir()
    for number in range(2):
        pq.write_table(pq.read_table(folder / "t.parquet").slice(number * 12, 12), parts / f"{number}.parquet")
    match chance.randrange(4):
        case 0:
            (parts / "1.parquet").write_bytes(changed_parquet(chance))
        case 1:
            (parts / "1.parquet").unlink()
            (parts / "1.parquet").mkdir()
        case 2:
            (parts / "2.parquet").symlink_to(chance.choice(("0.parquet", "nowhere", "2.parquet", "/dev/zero")))
        case _:
            (parts / "1.parquet").chmod(0)
    _source(folder, chance.choice(("parts/*.parquet", "parts/?.parquet", "part*/*", "parts", "parts/[01].parquet")))
    return _runs(chance)


def _runs(chance: random.Random) -> Commands:
    commands = [["run", "spec.toml", "--out", "new", *([] if chance.random() < 0.1 else ["--answers-only"])]]
    if chance.random() < 0.3:
        commands.insert(0, ["run", "spec.toml", "--dry-run", "--force"])
    if chance.random() < 0.1:
        commands.append(["evaluate", "out", "--truth", chance.choice(("t.csv", "t.parquet"))])
    return commands


def map_file(chance: random.Random, folder: Path) -> Commands:
    text = MAP
    for _ in range(chance.choice((1, 1, 2))):
        text = change_text(chance, text)
    content = text.encode(chance.choice(("utf-8", "utf-8", "utf-16", "latin-1")), "replace")
    if chance.random() < 0.3:
        content = change_bytes(chance, content)
    (folder / "map.csv").write_bytes(content)
    return _runs(chance)


def release(chance: random.Random, folder: Path) -> Commands:
    """One file of the release is changed, gone, added, swapped or a link; sometimes the checksums agree again."""
    out = folder / "out"
    for _ in range(chance.choice((1, 1, 2))):
        _change_release(chance, out)
    if chance.random() < 0.6:
        _seal(out)
    return _readers(chance)


def _change_release(chance: random.Random, out: Path) -> None:
    files = sorted(path for path in out.rglob("*") if path.is_file())
    path = chance.choice(files)
    manifest = out / "manifest.json"
    match chance.randrange(8):
        case 0 | 1 | 2:
            with suppress(ValueError, OSError, TypeError):
                document = change_document(chance, _json(manifest))
                manifest.write_text(json.dumps(document, default=str), encoding="utf-8")
        case 3:
            path.write_bytes(change_bytes(chance, path.read_bytes()))
        case 4:
            path.unlink()
        case 5 if path.suffix == ".parquet":
            with suppress(pa.ArrowException, OSError):
                pq.write_table(changed_table(chance, pq.read_table(path)), path)
        case 5 | 6:
            other = chance.choice(files)
            if path != other:
                shutil.copyfile(other, path)
        case _:
            path.unlink()
            path.symlink_to(chance.choice(("../t.parquet", "nowhere", "/dev/zero", path.name, "..")))


def _seal(out: Path) -> None:
    """Checksums as whoever changes a release would make them."""
    manifest, beside = out / "manifest.json", out / "microdata.json"
    with suppress(ValueError, OSError, TypeError, AttributeError, KeyError):
        document = _json(manifest)
        for name in document["files"]:
            path = out / name
            if path.is_file():
                document["files"][name] = _sha256(path)
        manifest.write_text(json.dumps(document, indent=2), encoding="utf-8")
    with suppress(ValueError, OSError, TypeError, AttributeError, KeyError):
        described = _json(beside)
        described |= {"manifest_sha256": _sha256(manifest), "sha256": _sha256(out / "microdata.parquet")}
        beside.write_text(json.dumps(described), encoding="utf-8")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8") if path.is_file() else "")  # not a device


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()  # not a device


def _readers(chance: random.Random) -> Commands:
    known = [
        ["microdata", "out", "--out", "m.parquet"],
        ["microdata", "out"],
        ["microdata", "out", "--nonnegative", "--whole", "--out", "m.parquet"],
        ["report", "out"],
        ["report", "out", "--out", "page.html", "--title", "A title"],
        ["tabulate", "out", "--by", chance.choice(("", "cnty", "naics2", "sector", "naics3,cnty"))],
        ["tabulate", "out", "--by", "cnty", "--ratio", "wage-per-job = wage / emp", "--out", "table.parquet"],
        ["tabulate", "out", "--agglvl", "70"],
        ["evaluate", "out", "--truth", "t.parquet", "--by", "cnty"],
    ]
    return chance.sample(known, 2)


def beside(chance: random.Random, folder: Path) -> Commands:
    """microdata.json, which says how the microdata were fitted."""
    path = folder / "out" / "microdata.json"
    document: Any = json.loads(path.read_text(encoding="utf-8"))
    if chance.random() < 0.8:
        for _ in range(chance.choice((1, 1, 2))):
            document = change_document(chance, document)
        path.write_text(json.dumps(document, default=str), encoding="utf-8")
    else:
        path.write_bytes(change_bytes(chance, path.read_bytes()))
    return [chance.choice((["report", "out"], ["evaluate", "out", "--truth", "t.parquet", "--by", "cnty"]))]


def fixed(chance: random.Random, folder: Path) -> Commands:
    """Public totals, as CSV or Parquet."""
    name = chance.choice(("fixed.csv", "fixed.parquet"))
    path = folder / name
    if name == "fixed.csv":
        text = FIXED
        for _ in range(chance.choice((1, 1, 2))):
            text = change_text(chance, text)
        content = text.encode(chance.choice(("utf-8", "utf-8", "utf-16", "latin-1")), "replace")
        path.write_bytes(change_bytes(chance, content) if chance.random() < 0.2 else content)
    elif chance.random() < 0.8:
        of = pq.read_table(path)
        for _ in range(chance.choice((1, 2))):
            of = changed_table(chance, of)
        with suppress(pa.ArrowException):
            pq.write_table(of, path)
    else:
        path.write_bytes(change_bytes(chance, path.read_bytes()))
    extra = chance.choice(([], ["--nonnegative"], ["--whole"], ["--nonnegative", "--whole"]))
    return [
        ["microdata", "out", "--fixed", name, *extra],
        chance.choice((["tabulate", "out", "--by", "cnty", "--fixed", name], ["report", "out", "--fixed", name])),
    ]


LEDGER_COMMANDS: Commands = [
    ["ledger", "show", LEDGER],
    ["ledger", "verify", LEDGER],
    ["ledger", "verify", LEDGER, "--head", "0" * 64],
    ["ledger", "remaining", LEDGER],
    ["ledger", "remaining", LEDGER, "--budget", "5"],
    ["ledger", "export", LEDGER, "--out", "ledger.csv"],
    ["ledger", "export", LEDGER, "--out", "ledger.jsonl"],
]
RUN = ["run", "spec.toml", "--out", "new", "--answers-only"]


def ledger_bytes(chance: random.Random, folder: Path) -> Commands:
    path = folder / LEDGER
    content = path.read_bytes()
    for _ in range(chance.choice((1, 1, 3))):
        content = change_bytes(chance, content)
    path.write_bytes(content)
    if chance.random() < 0.1:
        (folder / f"{LEDGER}-journal").write_bytes(chance.randbytes(chance.choice((0, 28, 600))))
    return [*chance.sample(LEDGER_COMMANDS, 2), RUN]


def ledger_rows(chance: random.Random, folder: Path) -> Commands:
    """Rows and tables edited by SQL, with the triggers out of the way."""
    with closing(sqlite3.connect(folder / LEDGER, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for _ in range(chance.choice((1, 1, 2))):
            with suppress(sqlite3.Error, OverflowError):
                connection.execute(*_statement(chance, connection))
        for _, sql in triggers:
            with suppress(sqlite3.Error):
                connection.execute(sql)
    decide = ["ledger", "decide", LEDGER, "--note", "looked"]
    return [*chance.sample(LEDGER_COMMANDS, 2), RUN, *([decide, RUN] if chance.random() < 0.3 else [])]


def _statement(chance: random.Random, connection: sqlite3.Connection) -> tuple[str, tuple[Any, ...]]:
    columns = {
        "entries": ("sequence", "hash", "body"),
        "head": ("sequence", "hash", "total"),
        "identity": ("id", "created", "fingerprint_key"),
    }
    name = chance.choice(list(columns))
    column = chance.choice(columns[name])
    value = chance.choice((None, chance.choice(TEXTS), chance.choice(NUMBERS), chance.randbytes(8)))
    if isinstance(value, int) and abs(value) >= 2**63:
        value = str(value)
    which = chance.choice(
        ("", " WHERE rowid = 1", " WHERE rowid = 3", " WHERE rowid = (SELECT max(rowid) FROM entries)")
    )
    match chance.randrange(7):
        case 0 | 1:
            return f"UPDATE {name} SET {column} = ?{which}", (value,)
        case 2:
            return f"DELETE FROM {name}{which}", ()
        case 3:
            bodies = connection.execute("SELECT body FROM entries").fetchall()
            document = json.loads(chance.choice(bodies)[0])
            text = json.dumps(change_document(chance, document), default=str)
            return f"UPDATE entries SET body = ?{which}", (text,)
        case 4:
            return chance.choice(("DROP TABLE head", "CREATE TABLE more (a)", "ALTER TABLE head ADD COLUMN more")), ()
        case 5:
            pragma = chance.choice(("application_id", "user_version"))
            return f"PRAGMA {pragma} = {chance.choice((0, 2, -1, 99))}", ()
        case _:
            return f"INSERT INTO {name} SELECT * FROM {name}", ()


def arguments(chance: random.Random, folder: Path) -> Commands:
    """Any command with any of its options, with values that fit, nearly fit, or do not."""
    return [_line(chance) for _ in range(2)]


def _line(chance: random.Random) -> list[str]:
    names = chance.choice(_LEAVES)
    command = _command(names)
    line = list(names)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if chance.random() < 0.95:
                line.append(_argument(chance, parameter))
        elif chance.random() < 0.3 or (parameter.required and chance.random() < 0.9):
            line.append(chance.choice(parameter.opts + parameter.secondary_opts))
            if not getattr(parameter, "is_flag", False):
                line.append(_value(chance, parameter))
    if names[0] in _SLOW:
        line.append("-h")
    elif names[0] == "compare":
        line += ["--replicates", "1", "--workers", "1"]
    if chance.random() < 0.05:
        line.append(chance.choice(("-h", "--no-such", "", "--", *TEXTS)))
    return [part.replace("\0", "") for part in line]


_FILES = (
    *("spec.toml", "t.parquet", "t.csv", "out", "first", LEDGER, "map.csv", "fixed.csv", "fixed.parquet", "new", "."),
    *("out/manifest.json", "out/microdata.parquet", "out/tables", "no/such", "x.csv", "x.parquet", "x.html", "x.jsonl"),
)


def _argument(chance: random.Random, parameter: click.Parameter) -> str:
    fitting = {"spec": "spec.toml", "folder": "out", "path": LEDGER}.get(str(parameter.name))
    return fitting if fitting and chance.random() < 0.75 else str(chance.choice((*_FILES, *TEXTS)))


def _value(chance: random.Random, parameter: click.Parameter) -> str:
    kind = parameter.type
    if chance.random() < 0.2:
        return str(chance.choice((*TEXTS, *NUMBERS)))
    if isinstance(kind, click.Choice):
        return str(chance.choice(list(kind.choices)))
    if isinstance(kind, click.Path):
        return str(chance.choice(_FILES))
    if kind.name.startswith(("int", "float")):
        return str(chance.choice((0, 1, 2, 7, 50, 75, 0.5, 0.999, 1e-9, -1)))
    fitting = {
        "by": ("cnty", "naics2", "sector,cnty", "naics3", "establishment", "cnty,cnty", "emp"),
        "truth": ("t.parquet", "t.csv", "*.parquet", "no.csv", "out/identity.parquet"),
        "attributes": ("emp", "wage", "secret"),
        "ratios": ("a = wage / emp", "weekly-wage", "x = emp / emp", "x = / emp", "x = (wage + emp) / (emp - emp)"),
        "names": ("m1emp=emp", "wage=wage", "m3emp=emp", "=", "a=b=c"),
        "sizes": ("3,36", "1e14", "nan", "-1", ""),
        "other": ("paper-equal", "spec.toml"),
        "budget": ("2.31", "1e9", "-1", "nan", "1/3"),
        "add_mu": ("0.1", "0", "-1", "1e400"),
    }.get(str(parameter.name), TEXTS)
    return str(chance.choice(fitting))


def _leaves(group: click.Group, names: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found += _leaves(command, (*names, name)) if isinstance(command, click.Group) else [(*names, name)]
    return found


def _command(names: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found
        command = found
    return command


_SLOW = {"demo", "reproduce"}  # these only say what they are
_LEAVES = [names for names in _leaves(cli) if names[0] != "reproduce"] + [("reproduce", "all")]

KINDS: tuple[Kind, ...] = (
    Kind("spec", 24, spec, numbers_may_show=True),
    Kind("CSV table", 14, csv, numbers_may_show=True),
    Kind("Parquet table", 14, parquet, numbers_may_show=True),
    Kind("several files", 4, several_files),
    Kind("map file", 6, map_file),
    Kind("release", 12, release),
    Kind("microdata.json", 4, beside),
    Kind("fixed totals", 6, fixed),
    Kind("ledger, bytes", 5, ledger_bytes),
    Kind("ledger, rows", 5, ledger_rows, forges=True),
    Kind("arguments", 8, arguments),
)


def chosen(chance: random.Random) -> Kind:
    return chance.choices(KINDS, [kind.share for kind in KINDS])[0]


def copied(world: Path, folder: Path) -> None:
    shutil.copytree(world, folder)
    os.chdir(folder)
