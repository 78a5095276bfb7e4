"""Names that files can have, and names that are the same where case or the spelling of accents does not count."""

import unicodedata

#: Of the name of a file without its suffix; with it and what a temporary file adds, file systems allow 255.
MOST_NAME_BYTES = 200
FILE_NAME_HINT = f"Use letters, digits, spaces, - and _, at most {MOST_NAME_BYTES} bytes"
_NOT_IN_FILE_NAMES = set('/\\:*?"<>|')
_RESERVED_FILE_NAMES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}


def is_file_name(name: str) -> bool:
    """Whether a file can have this name on every system."""
    sound = name.isprintable() and name.strip(" .") == name and len(name.encode()) <= MOST_NAME_BYTES
    return sound and not _NOT_IN_FILE_NAMES & set(name) and name.partition(".")[0].upper() not in _RESERVED_FILE_NAMES


def folded(name: str) -> str:
    """The same text for names that some file system or database takes for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
