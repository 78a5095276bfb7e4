"""Set what agencies use today and what others propose beside gedp, and check what the paper says of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

import pyarrow as pa

from gedp.documents import PrintedTable
from gedp.errors import how_to_install
from gedp.folders import make_private
from gedp.numbers import short, short_share
from gedp_lab.baselines.strength import strength_text
from gedp_lab.baselines.workflows import BASELINES, EZS
from gedp_lab.compare import Comparison
from gedp_lab.compare.plan import make_plan
from gedp_lab.decide.gather import AttributeFacts, gather_facts
from gedp_lab.decide.sizes import errors_by_size
from gedp_lab.decide.tables import AUDIT_HEADINGS, audit_rows, withheld_by_level
from gedp_lab.evaluate.published import NATION, PublishedQcew
from gedp_lab.reproduce.claims import Check, Comparisons, claim, more_accurate, ours, over_releases, places
from gedp_lab.reproduce.compared import (
    COUNTY,
    JOBS,
    LEVELS,
    STATE,
    WAGES,
    compare_states,
    equal_spec,
    lines_table,
    links,
    median_table,
)
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.results import CheckedClaim, Item, Result, skipped, verdict_of
from gedp_lab.suppress.document import second_tables_of
from gedp_lab.suppress.study import OURS as OWN
from gedp_lab.suppress.study import PRIMARY, SuppressionStudy

PRINTED = (
    "About 60% of the QCEW's cells are suppressed; another publisher can open them; EZS noise underprotects small "
    "cells and distorts large aggregates; relative error of the same size everywhere hurts large totals (text)"
)
WORKFLOWS = ("auto", *BASELINES)
ATTRIBUTES = (JOBS, WAGES)
AROUND = (0.5, 0.7)  # what counts as about 60%
Facts = Mapping[str, Mapping[str, AttributeFacts]]  # by state and attribute
Studies = Mapping[str, SuppressionStudy]  # by state and attribute in words


def run(context: Context) -> Result:
    """Replicates of all methods, suppression with its audit, and attacks."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return skipped(PRINTED, f"The audit needs the package highspy: {how_to_install('suppression')}.")
    found = compare_states(context, "baselines", equal_spec(), WORKFLOWS, ATTRIBUTES)
    facts = {state.name: _facts(context, state) for state in context.states}
    studies = {
        f"{state} {attribute}": each.suppression
        for state, found_there in facts.items()
        for attribute, each in found_there.items()
        if each.suppression is not None
    }
    claims = [
        _lost(context, studies),
        claim(
            "After secondary suppression, a table of another publisher, safe by itself, opens sensitive cells",
            [_opened(name, study) for name, study in studies.items()],
        ),
        *over_releases(found, _about_noise(found)),
        claim("EZS noise underprotects small cells", list(_ezs_checks(facts))),
        ours(
            "Our secondary suppression leaves no sensitive cell unsafe; primary suppression alone leaves many",
            [check for name, study in studies.items() for check in _audits(name, study)],
        ),
    ]
    return Result(
        PRINTED,
        "; ".join(_summary(name, study) for name, study in studies.items()),
        verdict_of([each.outcome for each in claims]),
        context.of_demo,
        claims=claims,
        tables=[table for name, each in found.items() for table in _tables(name, each, facts[name])],
        links=links(context, found),
        data={"baselines": lines_table(found), "baselines-suppression": _outcomes(studies)},
    )


def _facts(context: Context, state: State) -> dict[str, AttributeFacts]:
    spec = equal_spec()
    context.progress(f"suppression, {state.title}", 0, 0)
    plan = make_plan(
        replace(spec, data=replace(spec.data, synthetic=True)),
        str(state.path),
        workflows=WORKFLOWS,
        attributes=ATTRIBUTES,
        by=list(LEVELS.values()),
        seed=context.seed,
    )
    folder = context.replicate_folder("baselines", state)
    make_private(folder)
    return gather_facts(plan, folder)


def _lost(context: Context, studies: Studies) -> CheckedClaim:
    checks = []
    if context.qcew is not None:
        rows = [row for row in PublishedQcew(context.qcew).suppression().to_pylist() if row["area"] == NATION]
        share = sum(row["withheld"] for row in rows) / sum(row["cells"] for row in rows)
        checks.append(Check("published QCEW", AROUND[0] <= share <= AROUND[1], short_share(share)))
    for name, study in studies.items():
        share = float(study.pattern(OWN).hidden[study.tables.is_shown].mean())
        checks.append(Check(f"{name}, p% rule", AROUND[0] <= share <= AROUND[1], short_share(share)))
    reason = (
        "The agency's rule is secret, and its tables are finer than ours, which end at NAICS-5: the finer, the more "
        "cells are withheld."
    )
    return claim("Suppression loses about 60% of the cells", checks, reason=reason)


def _opened(name: str, study: SuppressionStudy) -> Check:
    best = study.second[0]
    opened, exact = int(best.opened.sum()), int(best.exact.sum())
    return Check(
        name,
        opened > 0 and best.unsafe_alone == 0,
        f"a table by {best.name}, alone with {best.unsafe_alone} unsafe cells, opens {opened:,}, {exact:,} exactly",
    )


def _about_noise(found: Comparisons) -> list[CheckedClaim]:
    large = places(ATTRIBUTES, [STATE, COUNTY])
    return [
        claim(
            "EZS noise distorts large aggregates more than gedp does", list(more_accurate(found, "auto", EZS, large))
        ),
        claim(
            "Relative error of the same size everywhere (log-Laplace) hurts large totals",
            list(more_accurate(found, "auto", "log-laplace", large)),
        ),
    ]


def _ezs_checks(facts: Facts) -> Iterator[Check]:
    """The factor divides out wherever one value of an establishment alone is known: wages, which have many digits."""
    for name, of_attributes in facts.items():
        each = of_attributes[JOBS]
        attack = each.ezs[EZS].attack
        if attack is not None and attack.cells:
            number = f"{attack.exact:,} of {attack.cells:,} establishments alone in a cell found exactly"
            yield Check(name, attack.exact > attack.cells / 2, f"{number}, {attack.near:,} to within one or 1%")
        told = each.ezs[EZS].told_apart
        yield Check(f"{name}, 10% apart", told > 0.5, f"told apart with certainty in {told:.0%}")


def _audits(name: str, study: SuppressionStudy) -> Iterator[Check]:
    for method, safe in ((PRIMARY, False), (OWN, True)):
        pattern = study.pattern(method)
        unsafe = int(pattern.found.is_unsafe(study.tables).sum())
        yield Check(f"{name}, {method}", (unsafe == 0) == safe, f"{unsafe:,} unsafe")


def _tables(state: str, found: Comparison, facts: Mapping[str, AttributeFacts]) -> Iterator[PrintedTable]:
    for attribute, each in facts.items():
        of = f"{state}, {attribute}"
        yield median_table(found, state, attribute, WORKFLOWS)
        classes, errors = errors_by_size(found, attribute)
        rows = [[workflow, *map(short_share, values)] for workflow, values in errors.items()]
        yield PrintedTable(f"{of}: median relative error by size of cell", ["method", *classes.names], rows)
        yield PrintedTable(f"{of}: share withheld by level", *withheld_by_level(each, found.order.levels))
        sizes = [short(size, 2) for size in each.sizes]
        strengths = [[workflow, *map(strength_text, values)] for workflow, values in each.strengths.items()]
        caption = f"{of}: μ between an establishment and one {each.reference.alpha:.0%} larger, by its size"
        yield PrintedTable(caption, ["method", *sizes], strengths)
        if each.suppression is not None:
            yield PrintedTable(f"{of}: suppression, audited", list(AUDIT_HEADINGS), audit_rows(each.suppression))
            for opened in second_tables_of(each.suppression):
                yield replace(opened, caption=f"{of}: what a second publisher opens")
    seconds = [[workflow, short(taken, 2)] for workflow, taken in found.times.items()]
    yield PrintedTable(f"{state}: seconds of one replicate, drawn and fitted", ["method", "seconds"], seconds)


def _summary(name: str, study: SuppressionStudy) -> str:
    pattern = study.pattern(OWN)
    return f"{name}: {pattern.hidden.sum():,} of {study.tables.is_shown.sum():,} cells withheld"


def _outcomes(studies: Studies) -> pa.Table:
    return pa.Table.from_pylist(
        [{"state": name.split()[0], **asdict(each)} for name, study in studies.items() for each in study.outcomes()]
    )


ITEM = Item("baselines", "What agencies use today and what others propose", 152, run)
