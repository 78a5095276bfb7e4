"""The example specs that come with gedp, by name."""

from importlib import resources
from pathlib import Path

from gedp.errors import Fault, FaultsError
from gedp.policy import Spec, parse_spec, read_spec


def example_names() -> list[str]:
    """The names of the example specs, sorted."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def example_text(name: str) -> str:
    """The text of one example spec, as a file has it."""
    if name not in example_names():
        listed = ", ".join(example_names())
        raise FaultsError(name, [Fault("name", "there is no such example", f"The examples are: {listed}")])
    return (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")


def find_spec(path_or_name: str) -> Spec:
    """The spec in a file, or the example of that name where there is no such file."""
    if not Path(path_or_name).exists() and path_or_name in example_names():
        return parse_spec(example_text(path_or_name), source=path_or_name)
    return read_spec(path_or_name)
