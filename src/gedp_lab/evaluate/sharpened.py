"""Tables that lean on earlier releases beside the truth: what the model gains, and where it is biased."""

from collections.abc import Iterator, Sequence

from gedp.microdata import Microdata
from gedp.microdata.class_tables import has_classes
from gedp.numbers import short, short_share
from gedp.sharpening import sharpen
from gedp_lab.evaluate.groups import ALL_SIZES, MICRODATA, SHARPENED, ComparedGroups, compared_lines
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.metrics import Errors
from gedp_lab.evaluate.truth import Truth

HEADINGS = ("level", "true value", "groups", "mean", "→", "mean abs.", "→", "covered", "→")
EXPLANATION = (
    "Direct → with earlier releases, by a model: mean of protected − true, mean absolute difference, and share of "
    "intervals that hold the truth"
)


def compare_sharpened(
    microdata: Microdata,
    earlier: Sequence[Microdata],
    truth: Truth,
    level: Level,
    attributes: Sequence[str],
    within: Sequence[str],
) -> Iterator[ComparedGroups]:
    """The groups of one level, sharpened, beside the truth; `within` counts where a level has its keys and others."""
    every = (microdata, *earlier)
    names = [
        name for name in attributes if all(name in each.attributes and each.allows(level.by, name) for each in every)
    ]
    if not names or not level.by or has_classes(microdata.public_rows.spec, level.by):
        return
    family = [key for key in within if key in level.by]
    if len(family) == len(level.by):
        family = []
    table = sharpen(microdata, earlier, level.by, names, within=family).table.arrow
    yield from compared_lines(level, names, SHARPENED, table, truth)


def sharpened_rows(comparisons: Sequence[ComparedGroups], attribute: str) -> list[list[str]]:
    """Under HEADINGS: direct beside sharpened, for each level all sizes together and then each."""
    own = {(each.level, each.source): each for each in comparisons if each.attribute == attribute}
    rows = []
    for (level, source), sharp in own.items():
        if source == SHARPENED:
            direct = own[level, MICRODATA]
            pairs = {ALL_SIZES: (direct.errors(), sharp.errors())}
            by_size = direct.errors_by_size(), sharp.errors_by_size()
            pairs |= {size: (errors, by_size[1][size]) for size, errors in by_size[0].items()}
            rows += [_row(level, size, *pair) for size, pair in pairs.items()]
    return rows


def _row(level: Level, size: str, direct: Errors, sharp: Errors) -> list[str]:
    return [
        level.name if size == ALL_SIZES else "",
        size,
        f"{direct.groups:,}",
        *(short(errors.mean, 2) for errors in (direct, sharp)),
        *(short(errors.mean_absolute, 2) for errors in (direct, sharp)),
        *(short_share(errors.covered) for errors in (direct, sharp)),
    ]
