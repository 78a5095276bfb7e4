"""What stands beside an evaluation: how an agency protects the same cells in its usual way.

One that is read from published files is a module here that implements `Baseline`, and an option of `gedp evaluate`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from gedp.microdata.cells import PublicRows
    from gedp_lab.evaluate.groups import ComparedGroups


class Baseline(Protocol):
    """What is left of the same cells where an agency protects them in its usual way, and our error there."""

    name: ClassVar[str]  # of its files and its heading
    explanation: ClassVar[str]  # the caption of its table
    headings: ClassVar[Sequence[str]]

    def beside(self, public_rows: "PublicRows", groups: "Sequence[ComparedGroups]") -> pa.Table:
        """One line for each level and attribute that it covers, with the columns `level` and `attribute`."""
        ...

    def texts(self, line: Mapping[str, Any]) -> list[str]:
        """A line as it is shown under the headings."""
        ...
