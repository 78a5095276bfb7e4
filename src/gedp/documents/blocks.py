"""What a document is made of. Blocks hold finished texts and know nothing of how they are shown."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Heading:
    """A heading; `anchor` is the name by which a link on the page finds it."""

    text: str
    level: Literal[2, 3] = 2
    anchor: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Some sentences: as they are, as the promise of the document, as a remark, or as a warning."""

    text: str
    style: Literal["", "promise", "soft", "warning"] = ""


@dataclass(frozen=True)
class Lines:
    """Short texts, each on a line of its own."""

    texts: Sequence[str]


@dataclass(frozen=True)
class PrintedTable:
    """A table of texts. `note` explains its columns.

    The first column and those under the headings `texts` are for words, all others for numbers.
    """

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: Collection[str] = ()
    footer: Sequence[str] = ()

    @property
    def are_texts(self) -> list[bool]:
        """Of each column, whether it is for words."""
        return [place == 0 or heading in self.texts for place, heading in enumerate(self.headings)]


@dataclass(frozen=True)
class Chart:
    """A drawing as SVG, with its alternative text inside; `style` is how wide a page may draw it."""

    svg: str
    caption: str = ""
    style: Literal["", "wide", "boxes"] = ""


@dataclass(frozen=True)
class Charts:
    """Charts side by side. `sentence` stands for them where nothing can be drawn; without it they are left out."""

    charts: Sequence[Chart]
    sentence: str = ""


@dataclass(frozen=True)
class OnPage:
    """HTML for the page alone, such as controls and links; `otherwise` is shown where there is no page."""

    html: str
    otherwise: "Sequence[Block]" = ()


Block: TypeAlias = Heading | Paragraph | Lines | PrintedTable | Charts | OnPage


@dataclass(frozen=True)
class Document:
    """What there is to say, in its order."""

    title: str
    blocks: Sequence[Block]


def without_empty(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks without headings that nothing follows."""
    kept: list[Block] = []
    for block in reversed(blocks):
        after = kept[-1] if kept else Heading("")
        if not (isinstance(block, Heading) and isinstance(after, Heading) and after.level <= block.level):
            kept.append(block)
    return kept[::-1]
