"""Names and texts inside SQL."""


def quoted_name(name: str) -> str:
    """The name of a column or table, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("'", "''") + "'"
