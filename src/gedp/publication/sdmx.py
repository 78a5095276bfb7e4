"""Tables in SDMX-CSV 1.0 with their data structures in SDMX-ML 2.1, for the systems of statistical offices.

Every table is a dataflow with a data structure of its own: a dimension for each key, one for the attribute (INDICATOR),
the figure as OBS_VALUE, and its error, interval and flags as attributes of the observation. Ids in SDMX have few signs;
codes that need others, or begin with - as formulas
do, get ids without them, and their names say what they were. Code lists have the codes that occur.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as Tree

import pyarrow as pa

from gedp.publication.about import MEANINGS, About
from gedp.publication.figures import TableOfFigures
from gedp.publication.plain import write_plain_csv

_V21 = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
MESSAGE, STRUCTURE, COMMON = f"{_V21}/message", f"{_V21}/structure", f"{_V21}/common"
AGENCY, VERSION = "GEDP", "1.0"
INDICATOR, CONCEPTS, QUALITY = "INDICATOR", "CONCEPTS", "QUALITY"
#: Columns of our tables that are attributes of an observation.
OBSERVED = {
    "establishments": "ESTABLISHMENTS",
    "std_error": "STD_ERROR",
    "cv": "CV",
    "ci_low": "CI_LOW",
    "ci_high": "CI_HIGH",
    "quality": QUALITY,
}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LANGUAGE = {"{http://www.w3.org/XML/1998/namespace}lang": "en"}


class Ids:
    """Texts as ids that SDMX allows, each different from the others."""

    def __init__(self, texts: Iterable[str], *, is_name: bool = False) -> None:
        self.of: dict[str, str] = {}
        taken: set[str] = set()
        for text in dict.fromkeys(texts):
            plain = re.sub(r"^-|[^A-Za-z0-9_-]", "_", text.upper() if is_name else text) or "_"
            plain = f"C_{plain}" if is_name and not plain[0].isalpha() else plain
            made, number = plain, 1
            while made in taken:
                number += 1
                made = f"{plain}_{number}"
            taken.add(made)
            self.of[text] = made

    def __getitem__(self, text: str) -> str:
        return self.of[text]


class SdmxIds:
    """The ids of a publication: tables, keys, attributes, codes and quality classes."""

    def __init__(self, about: About) -> None:
        own = {INDICATOR, "OBS_VALUE", "DATAFLOW", *OBSERVED.values()}
        keys = Ids([*own, *about.keys], is_name=True)
        self.tables = Ids([table.chosen.name for table in about.tables], is_name=True)
        self.keys = {key: keys[key] for key in about.keys}
        self.attributes = Ids(about.attributes)
        self.quality = Ids(about.flags)
        self.codes = {key: Ids(_codes(about, key)) for key in about.keys}


def write_sdmx_csv(ids: SdmxIds, table: TableOfFigures, path: Path) -> None:
    """Writes one table as SDMX-CSV."""
    lines = table.arrow
    columns: dict[str, pa.ChunkedArray | pa.Array | Sequence[object]] = {
        "DATAFLOW": [f"{AGENCY}:{ids.tables[table.chosen.name]}({VERSION})"] * lines.num_rows
    }
    for key in table.chosen.by:
        columns[ids.keys[key]] = _replaced(lines[key], ids.codes[key])
    columns[INDICATOR] = _replaced(lines["attribute"], ids.attributes)
    columns["OBS_VALUE"] = lines["estimate"]
    columns |= {made: lines[ours] for ours, made in OBSERVED.items() if ours != "quality"}
    columns[QUALITY] = _replaced(lines["quality"], ids.quality)
    write_plain_csv(pa.table(columns), path)


def write_structures(about: About, ids: SdmxIds, path: Path) -> None:
    """Writes dataflows, code lists, concepts and data structures of all tables."""
    for prefix, space in (("mes", MESSAGE), ("str", STRUCTURE), ("com", COMMON)):
        Tree.register_namespace(prefix, space)
    root = Tree.Element(f"{{{MESSAGE}}}Structure")
    _header(root, about)
    parts = Tree.SubElement(root, f"{{{MESSAGE}}}Structures")
    flows, lists, concepts, structures = (
        _child(parts, name) for name in ("Dataflows", "Codelists", "Concepts", "DataStructures")
    )
    for table in about.tables:
        made = ids.tables[table.chosen.name]
        flow = _maintained(flows, "Dataflow", made, table.chosen.title)
        _reference(_child(flow, "Structure"), f"DSD_{made}", "datastructure", "DataStructure")
        _structure(structures, table, ids)
    for made, title, codes in _code_lists(about, ids):
        each = _maintained(lists, "Codelist", f"CL_{made}", title)
        for code, name in codes.items():
            _named(_child(each, "Code", id=code), name)
    scheme = _maintained(concepts, "ConceptScheme", CONCEPTS, "Columns")
    for made, name in _concepts(about, ids).items():
        _named(_child(scheme, "Concept", id=made), name)
    Tree.indent(root)
    path.write_bytes(Tree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _header(root: Tree.Element, about: About) -> None:
    header = Tree.SubElement(root, f"{{{MESSAGE}}}Header")
    prepared = about.microdata.release.manifest.created.isoformat(timespec="seconds")
    for name, text in (("ID", "PUBLICATION"), ("Test", "false"), ("Prepared", prepared)):
        Tree.SubElement(header, f"{{{MESSAGE}}}{name}").text = text
    Tree.SubElement(header, f"{{{MESSAGE}}}Sender", id=AGENCY)


def _structure(parent: Tree.Element, table: TableOfFigures, ids: SdmxIds) -> None:
    """The data structure of one table: dimensions, attributes of the observation, and the observation."""
    chosen = table.chosen
    made = _maintained(parent, "DataStructure", f"DSD_{ids.tables[chosen.name]}", chosen.title)
    components = _child(made, "DataStructureComponents")
    dimensions = _child(components, "DimensionList", id="DimensionDescriptor")
    for position, name in enumerate([*(ids.keys[key] for key in chosen.by), INDICATOR], 1):
        each = _component(dimensions, "Dimension", name, position=str(position))
        _coded(each, name)
    attributes = _child(components, "AttributeList", id="AttributeDescriptor")
    for name in OBSERVED.values():
        each = _component(attributes, "Attribute", name, assignmentStatus="Conditional")
        if name == QUALITY:
            _coded(each, name)
        else:
            kind = "Integer" if name == "ESTABLISHMENTS" else "Double"
            _child(_child(each, "LocalRepresentation"), "TextFormat", textType=kind)
        Tree.SubElement(_child(_child(each, "AttributeRelationship"), "PrimaryMeasure"), "Ref", id="OBS_VALUE")
    measures = _child(components, "MeasureList", id="MeasureDescriptor")
    observed = _component(measures, "PrimaryMeasure", "OBS_VALUE")
    _child(_child(observed, "LocalRepresentation"), "TextFormat", textType="Double")


def _code_lists(about: About, ids: SdmxIds) -> Iterable[tuple[str, str, Mapping[str, str]]]:
    """Id, title and codes with their names, of every dimension and of the quality."""
    for key in about.keys:
        yield ids.keys[key], about.labels.title(key), {ids.codes[key][c]: n for c, n in _codes(about, key).items()}
    titles = {ids.attributes[name]: about.labels.with_unit(name) for name in about.attributes}
    yield INDICATOR, "What the figure is about", titles
    yield QUALITY, "Quality", {ids.quality[name]: meaning for name, meaning in about.flags.items()}


def _concepts(about: About, ids: SdmxIds) -> dict[str, str]:
    named = {ids.keys[key]: about.labels.title(key) for key in about.keys}
    observed = {made: MEANINGS[ours] for ours, made in OBSERVED.items()}
    return {**named, INDICATOR: "what the figure is about", "OBS_VALUE": MEANINGS["estimate"], **observed}


def _codes(about: About, key: str) -> dict[str, str]:
    """The codes of a key that occur in any table, with their names; where one has several, with itself."""
    found: dict[str, str] = {}
    for table in about.tables:
        if key in table.chosen.by:
            lines = table.of(table.chosen.lines[0])
            names = lines[table.names[key]] if key in table.names else lines[key]
            for code, name in zip(lines[key].to_pylist(), names.to_pylist(), strict=True):
                found[code] = name if found.get(code, name) == name else code
    return dict(sorted(found.items()))


def _replaced(column: pa.ChunkedArray, ids: Ids) -> list[str]:
    return ["" if text is None else ids[text] for text in column.to_pylist()]


def _child(parent: Tree.Element, name: str, **attributes: str) -> Tree.Element:
    return Tree.SubElement(parent, f"{{{STRUCTURE}}}{name}", attributes)


def _maintained(parent: Tree.Element, name: str, made: str, title: str) -> Tree.Element:
    element = _child(parent, name, id=made, agencyID=AGENCY, version=VERSION, isFinal="true")
    _named(element, title)
    return element


def _named(element: Tree.Element, name: str) -> None:
    Tree.SubElement(element, f"{{{COMMON}}}Name", _LANGUAGE).text = _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", name)


def _component(parent: Tree.Element, kind: str, name: str, **attributes: str) -> Tree.Element:
    element = _child(parent, kind, id=name, **attributes)
    within = {"maintainableParentID": CONCEPTS, "maintainableParentVersion": VERSION}
    _reference(_child(element, "ConceptIdentity"), name, "conceptscheme", "Concept", **within)
    return element


def _coded(element: Tree.Element, name: str) -> None:
    _reference(_child(_child(element, "LocalRepresentation"), "Enumeration"), f"CL_{name}", "codelist", "Codelist")


def _reference(parent: Tree.Element, made: str, package: str, kind: str, **within: str) -> None:
    version = {} if within else {"version": VERSION}
    given = {"id": made, **within, **version, "agencyID": AGENCY, "package": package, "class": kind}
    Tree.SubElement(parent, "Ref", given)
