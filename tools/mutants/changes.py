"""The changes: what mutmut changes in an expression or a statement, and three changes of our own.

mutmut itself changes functions without decorators alone, and no constants, because it keeps every variant of a function
beside the function. Here a changed module takes the module's place, so a property, a context manager and a constant
can be changed as well.

Texts stay as they are: they are what messages are made of, and a changed word of SQL is an error that every test finds.
Nothing becomes None, in an assignment or as an argument: `make types` notices that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string

SOURCE = Path(__file__).parents[2] / "src" / "gedp"
UNUSED = (operator_assignment, operator_string)
OPERATORS = [(kind, change) for kind, change in mutation_operators if change not in UNUSED]
#: Calls whose arguments are never a choice, and an argument that only says what holds anyway.
PLAIN = ("cast", "isinstance", "len")
ASSERTED = "strict"


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    file: str  # below src/gedp
    function: str  # or class, or nothing where a constant is changed
    before: str
    after: str
    lines: tuple[int, int]  # of what is changed, where tests run it: of the function, for a default
    around: tuple[int, int]  # of the function; of the module, for a constant
    code: str  # the whole module, changed

    @property
    def key(self) -> str:
        """The change in words; the same wherever in the file the function is."""
        return f"{self.file} {self.function or 'module'}: {self.before} → {self.after}"

    @property
    def module(self) -> str:
        """The module's name."""
        return ".".join(("gedp", *Path(self.file).with_suffix("").parts))


@dataclass(frozen=True)
class _Inside:
    """Where in the module a node is."""

    names: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None  # of the outermost function
    raising: bool = False
    header: bool = False  # where Python looks once, when it defines the function


def of_room(room: str) -> list[Mutant]:
    """All changes to the modules of a room, without those of its folders."""
    paths = sorted((SOURCE / room).glob("*.py"))
    return [mutant for path in paths for mutant in of_module(f"{room}/{path.name}", path.read_text(encoding="utf-8"))]


def of_module(file: str, code: str) -> list[Mutant]:
    """All changes to a module, each once."""
    wrapper = MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    extents = wrapper.resolve(WhitespaceInclusivePositionProvider)
    starts = [0]
    for line in code.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, Mutant] = {}
    for node, changed, inside in _changes(wrapper.module, _Inside(), positions):
        extent, position = extents[node], positions[node]
        first, last = (starts[at.line - 1] + at.column for at in (extent.start, extent.end))
        text = code[:first] + wrapper.module.code_for_node(changed) + code[last:]
        around = inside.lines or (1, len(starts))
        lines = around if inside.header or not inside.lines else (position.start.line, position.end.line)
        if not _compiles(text):
            continue
        before, after = _difference(code, text)
        mutant = Mutant(file, ".".join(inside.names), before, after, lines, around, text)
        if before != after:
            found.setdefault(text, mutant)
    return list(found.values())


def _changes(node: Any, inside: _Inside, positions: Any) -> Iterator[tuple[Any, Any, _Inside]]:
    """What is changed, what it becomes, and where it is."""
    if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom) or _is_plain(node):
        return
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        lines = inside.lines
        if lines is None and isinstance(node, cst.FunctionDef):
            first = node.decorators[0] if node.decorators else node
            lines = (positions[first].start.line, positions[node].end.line)
        inside = _Inside((*inside.names, node.name.value), lines)
    if not (inside.raising and isinstance(node, cst.Call)):
        yield from ((node, changed, inside) for changed in _of_mutmut(node))
    yield from ((part, changed, inside) for part, changed in _of_our_own(node))
    if isinstance(node, cst.Raise):
        inside = replace(inside, raising=True)
    if isinstance(node, cst.Parameters):
        inside = replace(inside, header=True)
    for child in node.children:
        yield from _changes(child, inside, positions)


def _of_mutmut(node: Any) -> Iterator[Any]:
    for kind, change in OPERATORS:
        if isinstance(node, kind) and not isinstance(node, cst.Match):
            of_arguments = change is operator_arg_removal
            for changed in change(node):
                if _leaves_out(node, changed) if of_arguments else not _is_same_number(node, changed):
                    yield changed


def _of_our_own(node: Any) -> Iterator[tuple[Any, Any]]:
    """A condition turned round; a call or a raise left out; an exception let through."""
    if isinstance(node, cst.If | cst.While | cst.Assert | cst.CompIf):
        test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield node.test, cst.UnaryOperation(cst.Not(), test)
    if isinstance(node, cst.Raise) or (isinstance(node, cst.Expr) and isinstance(node.value, cst.Call)):
        yield node, cst.Pass()


def _is_plain(node: Any) -> bool:
    """Whether nothing in it is a choice: types, and calls that have one form alone."""
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    if isinstance(node, cst.Arg):
        return node.keyword is not None and node.keyword.value == ASSERTED
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in PLAIN


def _leaves_out(node: Any, changed: Any) -> bool:
    """Whether an argument that could be another is left out, and not replaced by None."""
    kept = [*map(id, changed.args)]
    return len(kept) < len(node.args) and not any(_is_plain(each) for each in node.args if id(each) not in kept)


def _is_same_number(node: Any, changed: Any) -> bool:
    """Whether both are one number: 1e60 + 1 is 1e60."""
    return isinstance(node, cst.BaseNumber) and bool(node.evaluated_value == changed.evaluated_value)


def _compiles(code: str) -> bool:
    try:
        compile(code, "changed", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _difference(one: str, other: str) -> tuple[str, str]:
    """The lines that differ, in one line each."""
    before, after = one.splitlines(), other.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return _in_one_line(before), _in_one_line(after)


def _in_one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
