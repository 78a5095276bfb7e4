"""What the package offers: every name resolves, says what it is, and is on the page about Python."""

import inspect
import pickle
import pydoc
import subprocess
import sys

import gedp

NAMES = [name for name in gedp.__all__ if name != "__version__"]


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in NAMES:
        assert getattr(gedp, name).__doc__, name
    assert not hasattr(gedp, "nonsense")


def test_help_and_dir_show_every_name() -> None:
    shown = pydoc.plain(pydoc.render_doc(gedp))
    for name in NAMES:
        thing = getattr(gedp, name)
        assert (f"class {name}(" if inspect.isclass(thing) else f"\n    {name}(") in shown, name
    assert set(gedp.__all__) <= set(dir(gedp))


def test_every_function_has_a_signature_with_types() -> None:
    functions = {name: getattr(gedp, name) for name in NAMES if inspect.isfunction(getattr(gedp, name))}
    assert {"run", "publish", "plan"} < functions.keys()
    for name, function in functions.items():
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        assert all(p.annotation is not p.empty for p in signature.parameters.values()), name
        assert inspect.Parameter.VAR_KEYWORD not in {p.kind for p in signature.parameters.values()}, name


def test_functions_and_classes_can_be_pickled() -> None:
    for name in NAMES:
        assert pickle.loads(pickle.dumps(getattr(gedp, name))) is getattr(gedp, name)


def test_a_name_is_the_same_thing_whatever_was_imported_before() -> None:
    """No module of ours has the name of something that is offered. Importing all of them takes some seconds."""
    code = (
        "import gedp, pkgutil, importlib\n"
        f"before = {{name: getattr(gedp, name) for name in {NAMES!r}}}\n"
        "for found in pkgutil.walk_packages(gedp.__path__, 'gedp.'):\n"
        "    if found.name != 'gedp.__main__': importlib.import_module(found.name)\n"
        "assert all(getattr(gedp, name) is thing for name, thing in before.items())\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
