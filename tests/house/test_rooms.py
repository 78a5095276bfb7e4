"""The three rules of the house, and that a broken one is noticed."""

from pathlib import Path
from types import ModuleType

import pytest

import gedp
import gedp_lab
from tests.house.rooms import broken_rules, read_imports


@pytest.mark.parametrize("package", [gedp, gedp_lab])
def test_the_three_rules_hold(package: ModuleType) -> None:
    imports = read_imports(Path(str(package.__file__)).parent)
    assert len(imports) > 50
    assert [rule for rule in broken_rules(imports) if package is gedp or rule.startswith("3.")] == []


def test_the_qcew_is_reached_through_the_registry_of_codes_the_public_class_and_the_command() -> None:
    imports, layout = read_imports(Path(str(gedp.__file__)).parent), "gedp.microdata.qcew"
    importing = {
        name: {module for module, found in imports.items() if any(each.startswith(name) for each in found)}
        for name in ("gedp.industries", layout)
    }
    assert importing["gedp.industries"] == {"gedp.known_codes", f"{layout}.areas", f"{layout}.sizes"}
    outside = {module for module in importing[layout] if not module.startswith(layout)}
    assert outside == {"gedp.microdata.fit", "gedp.cli.tabulating"}


@pytest.mark.parametrize(
    ("module", "line", "rule"),
    [
        (
            "report/page.py",
            "from gedp.confidential.table import open_table",
            "1. gedp.report.page imports confidential",
        ),
        ("report/page.py", "from gedp import noise", "1. gedp.report.page imports noise"),
        ("report/page.py", "def later():\n    import gedp.noise.entropy", "1. gedp.report.page imports noise"),
        ("report/page.py", "from ..noise import entropy", "1. gedp.report.page imports noise"),
        ("report/page.py", "found = import_module('gedp.noise.entropy')", "1. gedp.report.page imports noise"),
        ("report/page.py", "from gedp import measure", "1. gedp.report.page imports __init__"),
        ("report/page.py", "from gedp import *", "1. gedp.report.page imports __init__"),
        ("report/page.py", "import gedp as whole", "1. gedp.report.page imports __init__"),
        ("report/page.py", "from .. import run", "1. gedp.report.page imports __init__"),
        ("report/page.py", "import gedp.cli.run", "1. gedp.report.page imports __init__, cli"),
        ("report/page.py", "__import__('gedp.' + 'noise')", "1. gedp.report.page imports __init__"),
        ("report/page.py", "found = importlib.import_module(f'gedp.{room}')", "1. gedp.report.page imports __init__"),
        ("report/page.py", "for name in sys.modules: pass", "1. gedp.report.page imports __init__"),
        ("individual/filling.py", "from gedp.noise.entropy import x", "1. gedp.individual.filling imports noise"),
        ("planning/choice.py", "from gedp.confidential import table", "1. gedp.planning.choice imports confidential"),
        (
            "release/reader.py",
            "from gedp_lab.evaluate import evaluate",
            "2. gedp.release.reader imports the laboratory",
        ),
        ("confidential/table.py", "import gedp_lab", "2. gedp.confidential.table imports the laboratory"),
        ("cli/run.py", "def f():\n    import_module('gedp_lab.evaluate')", "2. gedp.cli.run imports the laboratory"),
        ("__init__.py", "import gedp_lab", "2. gedp imports the laboratory"),
        ("release/reader.py", "def f():\n    from gedp.report import page", "3. rooms import each other in a cycle"),
        (
            "release/reader.py",
            "def f():\n    from gedp.release.writer import write",
            "3. modules of release import each other in a cycle: gedp.release.reader, gedp.release.writer",
        ),
        (
            "release/reader.py",
            "if TYPE_CHECKING:\n    from gedp.release import writer",
            "3. modules of release import each other in a cycle: gedp.release.reader, gedp.release.writer",
        ),
    ],
)
def test_a_broken_rule_is_noticed_wherever_the_import_stands(tmp_path: Path, module: str, line: str, rule: str) -> None:
    package = tmp_path / "gedp"
    modules = ("confidential/table", "noise/entropy", "release/reader", "release/writer", "report/page", "cli/run")
    for name in (*modules, "individual/filling", "planning/choice"):
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        (path.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "report/page.py").write_text("from gedp.release import reader\n", encoding="utf-8")
    (package / "release/writer.py").write_text("from gedp.release import reader\n", encoding="utf-8")
    (package / "cli/run.py").write_text("import gedp.noise, gedp.confidential\n", encoding="utf-8")
    assert broken_rules(read_imports(package)) == []
    with (package / module).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    (broken,) = broken_rules(read_imports(package))
    assert broken.startswith(rule)
