"""Which room of the house imports which, read from the source: `python -m tests.house.rooms` prints it.

A room is what lies directly in the package: a folder, or a module of the floor. Imports inside functions count, and so
do imports for types alone, and names of modules in strings, as `import_module` takes them. Whoever imports the package
itself, or a module by a name that is computed, can reach whatever `import gedp` offers. The laboratory is a package of
its own. This finds accidents; whoever wants to hide one still can.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

#: Where people come in: the command line, and what `import gedp` offers.
DOORS = {"cli", "api", "__init__", "__main__"}
SEES_TRUTH_OR_NOISE = {"confidential", "noise"}
LABORATORY = "gedp_lab"
#: What the promise rests on (docs/design.md): rooms, and modules of one.
AUDITED = (
    *("confidential", "noise", "ledger", "accounting"),
    *(f"individual/{name}.py" for name in ("bounds", "first", "charges", "units", "classes", "combinations")),
)

Imports = Mapping[str, set[str]]  # of every module, by dotted name


def read_imports(package: Path) -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    modules = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {
        name: {module for mentioned in _mentioned(path, name) if (module := _module(mentioned, modules))}
        for name, path in modules.items()
    }


def rooms(imports: Imports) -> dict[str, set[str]]:
    """The other rooms that each room imports."""
    result: dict[str, set[str]] = {}
    for module, imported in imports.items():
        result.setdefault(room_of(module), set()).update(map(room_of, imported))
    return {room: others - {room} for room, others in result.items()}


def room_of(module: str) -> str:
    """The room in which a module is; `__init__` for the package itself."""
    return LABORATORY if module == LABORATORY else [*module.split("."), "__init__"][1]


def cycles(imports: Imports) -> dict[str, list[str]]:
    """For every room, the most modules that all import each other, directly or through others; often none."""
    inside = {name: {other for other in found if room_of(other) == room_of(name)} for name, found in imports.items()}
    reached = {name: _reached(name, inside) for name in inside}
    result: dict[str, list[str]] = {}
    for name, found in reached.items():
        together = sorted(other for other in found if name in reached[other])
        result[room_of(name)] = max(result.get(room_of(name), []), together, key=len)
    return result


def _reached(start: str, imports: Imports) -> set[str]:
    """What a module imports, directly or through others. Itself only if it is in a cycle of several."""
    found, ahead = set[str](), list(imports[start] - {start})
    while ahead:
        if (name := ahead.pop()) not in found:
            found.add(name)
            ahead += imports[name] - {name}
    return found


def broken_rules(imports: Imports) -> list[str]:
    """Where the three rules are broken."""
    broken = []
    for module, imported in imports.items():
        room, others = room_of(module), set(map(room_of, imported))
        if room not in {*SEES_TRUTH_OR_NOISE, *DOORS} and (seen := others & {*SEES_TRUTH_OR_NOISE, *DOORS}):
            listed = ", ".join(sorted(seen, key=lambda other: (other in DOORS, other)))
            broken.append(f"1. {module} imports {listed}, which only confidential and doors may")
        if LABORATORY in others:
            broken.append(f"2. {module} imports the laboratory")
    try:
        TopologicalSorter(rooms(imports)).prepare()
    except CycleError as cycle:
        broken.append(f"3. rooms import each other in a cycle: {' -> '.join(cycle.args[1])}")
    for room, modules in cycles(imports).items():
        if modules:
            broken.append(f"3. modules of {room} import each other in a cycle: {', '.join(modules)}")
    return broken


def _name(path: Path, package: Path) -> str:
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _mentioned(path: Path, name: str) -> Iterator[str]:
    """Every dotted name that an import or a string of a module mentions."""
    parent = name if path.stem == "__init__" else name.rpartition(".")[0]
    anything = f"{name.partition('.')[0]}.*"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            yield from (f"{alias.name.partition('.')[0]}.*" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parent.split(".")[: len(parent.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value
        elif _is_computed(node):
            yield anything


def _is_computed(node: ast.AST) -> bool:
    """Whether a module may be taken by a name that is not written out."""
    if isinstance(node, ast.Attribute):
        return node.attr == "modules" and isinstance(node.value, ast.Name) and node.value.id == "sys"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return False
    called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    return called in {"import_module", "__import__"} and not any(isinstance(arg, ast.Constant) for arg in node.args[:1])


def _module(mentioned: str, modules: Mapping[str, Path]) -> str | None:
    """The module that a dotted name is, or is in: for a name in the package itself, that."""
    if mentioned.split(".")[0] == LABORATORY and LABORATORY not in modules:
        return LABORATORY
    if "." not in mentioned:
        return None  # a word
    while mentioned and mentioned not in modules:
        mentioned = mentioned.rpartition(".")[0]
    return mentioned or None


def main() -> None:
    import gedp
    import gedp_lab

    house, laboratory = (Path(str(package.__file__)).parent for package in (gedp, gedp_lab))
    lines = _print_rooms(house)
    seen = sum(lines[room] for room in SEES_TRUTH_OR_NOISE)
    print(f"\n{seen:,} of {sum(lines.values()):,} lines can see the truth or the noise and lead to a release")
    audited = [
        path for name in AUDITED for path in ((house / name).rglob("*.py") if "." not in name else [house / name])
    ]
    print(f"an auditor of the promise reads {sum(map(_lines, audited)):,}: {', '.join(AUDITED)}\n")
    _print_rooms(laboratory)
    broken = broken_rules(read_imports(house))
    broken += [rule for rule in broken_rules(read_imports(laboratory)) if rule.startswith("3.")]
    print("", "\n".join(broken) or "the three rules hold", sep="\n")
    sys.exit(bool(broken))


def _print_rooms(package: Path) -> dict[str, int]:
    """Prints the rooms of a package, the lowest first, and returns their lines.

    A row has the room, its lines, the number of modules in its longest cycle, and the rooms that it imports.
    """
    imports, lines = read_imports(package), dict[str, int]()
    for path in package.rglob("*.py"):
        room = room_of(_name(path, package))
        lines[room] = lines.get(room, 0) + _lines(path)
    graph, found = rooms(imports), cycles(imports)
    print(f"{'room':<14}{'lines':>7}{'cycle':>7}  imports")
    for room in TopologicalSorter(graph).static_order():
        print(f"{room:<14}{lines[room]:>7,}{len(found[room]):>7}  {' '.join(sorted(graph[room]))}")
    return lines


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    main()
