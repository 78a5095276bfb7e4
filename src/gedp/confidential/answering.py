"""Where the truth and the noise meet: every answer is drawn here, after its price was recorded."""

from fractions import Fraction

import numpy as np

from gedp._version import __version__
from gedp.confidential.answers import AnswerWriter
from gedp.confidential.individual import IndividualJob
from gedp.confidential.job import Described
from gedp.confidential.preparing import Prepared
from gedp.confidential.priced import PricedJob
from gedp.confidential.recording import Record, released_at
from gedp.confidential.table import ConfidentialTable
from gedp.noise.entropy import Entropy
from gedp.progress import Progress, silent
from gedp.release import Manifest


def write_maps(table: ConfidentialTable, writer: AnswerWriter) -> None:
    """Hands over the map files of a table. The lookup of a prefix has the codes that occur, and stays here."""
    for name, known in table.maps.items():
        writer.write_map(name, known)


def draw_answers(
    prepared: Prepared,
    writer: AnswerWriter,
    entropy: Entropy,
    zeta: Fraction,
    progress: Progress | None = None,
    recorded: Record | None = None,
) -> Manifest:
    """Draws every answer into the writer, and says what anybody may know about them."""
    accounting = IndividualJob if prepared.spec.is_individual else PricedJob
    with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
        described = accounting(prepared, entropy, zeta, writer, progress or silent).draw()
    return _manifest(prepared, entropy, recorded, described)


def _manifest(prepared: Prepared, entropy: Entropy, recorded: Record | None, described: Described) -> Manifest:
    """What anybody may know about the release. Nothing in it comes from the confidential columns but through noise."""
    spec = prepared.spec
    attributes = spec.policy.attributes
    return Manifest(
        gedp=__version__,
        created=released_at(),
        release=recorded.release if recorded else None,
        entropy=entropy.kind,
        establishments=prepared.cells.rows,
        spec=spec,
        answered=tuple(described.answered),
        zeta=described.zeta,
        estimates={
            name: "unbiased"
            if attributes[name].protection.psi.is_unbiased
            else "corrected to the second order of the noise; a bias of higher order remains"
            for name in spec.asked
        },
        together=recorded.together if recorded else None,
        individual=described.individual,
    )
