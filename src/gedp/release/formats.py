"""The format numbers of manifests: what is in one decides which it has (docs/evolution.md)."""

FORMAT = 3
#: The same where the establishments are in parts, which readers of format 3 do not know.
FORMAT_IN_PARTS = 4
#: With tables by classes, in parts or not; readers of the others do not know these.
FORMAT_WITH_CLASSES = 5
#: With tables of combinations, or what the periods of a series cost; and with anything of the others.
FORMAT_WITH_ALL = 6
#: The same in a series where answers count for several periods at once.
FORMAT_OF_SEVERAL = 7
FORMATS = (FORMAT, FORMAT_IN_PARTS, FORMAT_WITH_CLASSES, FORMAT_WITH_ALL, FORMAT_OF_SEVERAL)


def format_of(*, of_several: bool, in_series: bool, combined: bool, by_class: bool, in_parts: bool) -> int:
    """The number of a manifest with these parts: the first that has all of them."""
    if of_several:
        return FORMAT_OF_SEVERAL
    if in_series or combined:
        return FORMAT_WITH_ALL
    if by_class:
        return FORMAT_WITH_CLASSES
    return FORMAT_IN_PARTS if in_parts else FORMAT
