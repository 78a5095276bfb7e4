"""The command that makes the same table as the page shows."""

import shlex

from gedp.desk.question import Question


def tabulate_command(question: Question, folder: str, earlier: str | None = None) -> str | None:
    """`gedp tabulate` with the options of a question, quoted for a shell; None where --by cannot take a name."""
    by = question.by
    if any("," in key or key != key.strip() or not key for key in by):
        return None
    words = ["gedp", "tabulate", folder, *([f"--against={earlier}"] if question.is_change and earlier else [])]
    words += [f"--by={','.join(by)}"] if by else []
    words += [f"--attribute={name}" for name in question.attributes]
    words += [f"--ratio={ratio}" for ratio in question.ratios]
    words += [f"--where={key}={code}" for key, codes in question.where for code in codes]
    words += [f"--confidence={question.confidence!r}"] if question.confidence is not None else []
    return shlex.join([*words, "--out=table.csv"])
