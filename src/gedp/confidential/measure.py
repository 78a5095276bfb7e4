"""Confidential table in, protected answers out: validate → price → draw, once the ledger has recorded it → write."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from gedp.accounting.composition import exact
from gedp.confidential.answering import draw_answers, write_maps
from gedp.confidential.pools import Shares
from gedp.confidential.preparing import Prepared, noise_for, prepare
from gedp.confidential.recording import known_by, paid_by, record
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable
from gedp.errors import DomainError, Refused
from gedp.files import require_space
from gedp.ledger import DecidedBy, Ledger, Request, require_one_series, require_own_ledger
from gedp.ledger.finishing import require_nothing_left
from gedp.neighbors.estimates import ZETA
from gedp.noise.entropy import Entropy
from gedp.policy import Spec
from gedp.policy.codelists import read_code_lists
from gedp.progress import Progress
from gedp.release import ReleaseFolder, ReleaseWriter
from gedp.release.rehearsal import Rehearsal, RehearsalWriter

LARGEST_DENOMINATOR = 10**30  # of zeta


@sealed
def answer(
    prepared: Prepared,
    *,
    out: Path,
    ledger: Ledger | None,
    entropy: Entropy | None = None,
    zeta: Fraction | None = None,
    replace: bool = False,
    keep: Sequence[Path] = (),
    decided_by: DecidedBy | None = None,
    progress: Progress | None = None,
) -> ReleaseFolder:
    """Answers what was prepared and writes the release to the folder `out`: this spends budget.

    The price is on disk in `ledger` before the first draw, and a run that ends before it costs nothing. Only a table
    declared synthetic can do without a ledger or with another source of randomness than the system's. `decided_by`
    names who decided that the release may promise less than earlier ones from the same data. Paths to `keep` are never
    replaced.
    """
    spec, engine = prepared.spec, prepared.table.engine
    if ledger is None and not spec.data.synthetic:
        raise Refused("a confidential table needs a ledger. Give one, or say in the spec that the data is synthetic")
    engine.require_unchanged()
    data = known_by(engine, spec)
    require_own_ledger(ledger, data)
    if ledger is not None:
        require_one_series(ledger.path, data.files, spec)
    entropy, zeta = noise_for(spec, entropy), _chance(zeta, spec)
    code_lists = read_code_lists(spec)
    keep = [*keep, *engine.files(), *([ledger.path] if ledger else [])]
    with ReleaseWriter(out, replace=replace, keep=keep, look=partial(require_nothing_left, ledger)) as writer:
        write_maps(prepared.table, writer)
        for codes in code_lists.values():
            writer.write_code_list(codes)
        if spec.identities:
            require_space(writer.folder, _bytes_of_rows(prepared))
            engine.require_place(writer)
        request = Request.of(spec, seeded=entropy.kind != "system")
        recorded = None if ledger is None else record(ledger, engine, request, spec, out, decided_by)
        try:
            paid = paid_by(recorded, entropy)
            release = writer.finish(draw_answers(prepared, writer, paid, zeta, progress, recorded))
            if recorded is not None:
                recorded.finish(release.folder)
        except BaseException as failure:
            if recorded is not None:
                recorded.fail(writer.target, failure, writer.left)
            raise
    return release


@sealed
def rehearse(
    table: ConfidentialTable,
    spec: Spec,
    *,
    entropy: Entropy | None = None,
    zeta: Fraction | None = None,
    shares: Shares | None = None,
) -> Rehearsal:
    """Answers as `answer` would give, to be compared with the truth and thrown away: no ledger knows of them.

    So nothing of it may be published. It stays in memory, where no reader could take it for a release. `shares` are
    set aside for queries under individual accounting.
    """
    prepared, writer = prepare(table, spec, shares), RehearsalWriter(table.engine.name)
    write_maps(table, writer)
    return writer.finish(draw_answers(prepared, writer, noise_for(spec, entropy), _chance(zeta, spec)))


def _bytes_of_rows(prepared: Prepared) -> int:
    """What the rows of a release may take on disk: while they wait to be sorted, they are there twice."""
    data, answers = prepared.spec.data, 4 if prepared.spec.is_individual else 2
    columns = answers * len(prepared.spec.asked) + 2 * (len(data.public) + bool(data.id))
    return 2 * 8 * columns * prepared.cells.rows


def _chance(zeta: Fraction | None, spec: Spec) -> Fraction:
    """The chance of any clipping, as the manifest can state it; rejected before anything is spent where it is none."""
    in_spec = None if spec.zeta is None else exact(spec.zeta)
    zeta = in_spec or ZETA if zeta is None else exact(zeta)
    if in_spec not in (None, zeta):
        raise Refused("the spec gives another zeta. Give it in one place")
    if not 0 < zeta < 1 or zeta.denominator > LARGEST_DENOMINATOR:
        raise DomainError("zeta is a chance: a number above 0 and below 1, of at most 30 digits")
    return zeta
