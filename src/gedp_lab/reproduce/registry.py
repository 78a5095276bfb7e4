"""Every item by name. A new one is a module in `items/`, which is found here."""

import ast
from importlib import import_module, resources
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from gedp_lab.reproduce import items

if TYPE_CHECKING:
    from gedp_lab.reproduce.results import Item


def item_names() -> list[str]:
    """The names of all items, alphabetically."""
    return sorted(module.name for module in iter_modules(items.__path__))


def summary(name: str) -> str:
    """What an item is about: the first paragraph of its module, which is read but not imported."""
    source = (resources.files(items) / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def find_item(name: str) -> "Item":
    """Imports the item of that name."""
    found: Item = import_module(f"{items.__name__}.{name}").ITEM
    return found


def every_item() -> list["Item"]:
    """Every item, imported, in the order of the page."""
    return sorted(map(find_item, item_names()), key=lambda item: item.place)
