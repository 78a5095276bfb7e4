"""`gedp compare`: workflows beside each other over many replicates."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command()
@click.argument("spec", metavar="SPEC")
@click.option("--truth", help="True table: a Parquet or CSV file, or a glob. Default: the source in the spec.")
@click.option("--replicates", type=click.IntRange(min=1), default=34, show_default=True, help="Number of replicates.")
@click.option(
    "--workflow",
    "workflows",
    multiple=True,
    help="psi, pnc, auto, gdp, individual or floors, alone or with +plug-in, +quasi or +oracle; may be repeated. "
    "Default: of the first four those that can answer the spec; without prices individual in place of gdp.",
)
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    help="Attribute, combination or establishments (by classes); may be repeated. Default: all.",
)
@click.option(
    "--by",
    multiple=True,
    help="Public keys and classes, separated by commas; may be repeated. Default: the QCEW levels.",
)
@click.option(
    "--sweep",
    help="Vary the budget, as mu=0.5,1,2.31,5; a share of it, as query:NAME=0.1,0.3 or attribute:NAME=0.1,0.3; or an "
    "attribute's share of one query, as within:QUERY:ATTRIBUTE=0.1,0.3.",
)
@click.option(
    "--html",
    is_flag=True,
    help="Also write decision.html: what agencies use today and what others propose, beside gedp. Takes minutes more.",
)
@click.option("--rule", help="Sensitivity rule of suppression, with --html.  [default: p:10]")
@click.option("--seed", type=click.IntRange(min=0), help="Draw repeatable noise; for synthetic data only.")
@click.option("--out", type=PATH, help="Folder for the results. Default: SPEC-comparison.")
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes. Default: one per core, at most 4.")
def command(
    spec: str,
    truth: str | None,
    replicates: int,
    workflows: tuple[str, ...],
    attributes: tuple[str, ...],
    by: tuple[str, ...],
    sweep: str | None,
    html: bool,
    rule: str | None,
    seed: int | None,
    out: Path | None,
    workers: int | None,
) -> None:
    """Compare how close several workflows come to the truth, on the table of SPEC at the same budget. Internal.

    Nothing is published and no budget is spent: every draw stays in memory. Errors, bias, coverage and winners are
    printed, and written as Parquet, CSV and a page to a private folder. Every file is stamped CONFIDENTIAL unless the
    spec declares the data synthetic. To resume an interrupted comparison, repeat the command.

    \b
    Workflows:
      psi         the psi-mechanism for all groups, plug-in weights (the paper's first)
      pnc         clipped sums (probably no clipping) for all groups, plug-in weights (the paper's second)
      auto        the better of the two for each group, quasi weights
      gdp         Gaussian DP: noise that hides the largest establishment
      individual  individual accounting: the same total, spent by every establishment in full
      floors      the same, with every query's own price set aside for it

    \b
    Baselines, for comparison alone:
      log-laplace   relative protection by multiplicative noise      smooth-gamma  the same by noise for the largest
      fourth-root   transformation mechanism                         splitting     values cut into pieces
      ezs           permanent multiplicative noise                   ezs-balanced  the same, cancelling within cells

    With --html, gedp, Gaussian DP and all baselines are compared unless --workflow names others, cells are suppressed
    and attacked as by `gedp suppress`, and one page tells it all.

    A spec without prices has equal shares in the first four; where it has them, individual and floors have their sum.

    \b
    Examples:
      gedp compare my.toml
      gedp compare my.toml --replicates 100 --attribute wage --by cnty --by cnty,naics3
      gedp compare my.toml --workflow psi --workflow psi+quasi --workflow auto
      gedp compare my.toml --workflow pnc --workflow individual
      gedp compare my.toml --sweep mu=0.5,1,2.31,5 --out by-budget
      gedp compare my.toml --html --attribute m3emp --attribute wage

    Exit codes: 0 done, 1 refused (folder taken, confidential data), 2 faults in the spec, the table or the options.
    """
    from dataclasses import replace

    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import to_terminal
    from gedp.errors import DomainError
    from gedp.policy.examples import find_spec
    from gedp_lab.compare.document import comparison_document
    from gedp_lab.compare.plan import make_plan, truth_of
    from gedp_lab.compare.replicates import compare_plan
    from gedp_lab.compare.workflows import sums_alone
    from gedp_lab.decide.decision import decision_workflows, with_decision
    from gedp_lab.evaluate.levels import parse_groupings
    from gedp_lab.suppress.rules import USUAL, parse_rule

    read, path = find_spec(spec), Path(spec)
    if html and sweep:
        raise DomainError("a page for a decision is of one budget. Leave out --sweep or --html")
    if rule and not html:
        raise DomainError("a rule of suppression is for the page for a decision. Add --html, or leave out --rule")
    parse_rule(rule := rule or USUAL)
    others = [query.name for query in read.queries if not query.is_plain]
    left_out = [f"{name}, as the page for a decision has sums by public groups" for name in others]
    with steps() as at:
        at.step("checking the table")
        plan = make_plan(
            sums_alone(read) if html else read,
            truth_of(read, truth),
            folder=read.folder,
            workflows=workflows or (decision_workflows(read, attributes or None) if html else None),
            attributes=attributes or None,
            by=parse_groupings(by) if by else None,
            sweep=sweep,
            seed=seed,
        )
        if html:
            plan = replace(plan, left_out=(*plan.left_out, *left_out))
        folder = out or path.with_name(f"{path.stem}-comparison")
        comparison = compare_plan(plan, folder, replicates, workers, at.count)
        pages = with_decision(plan, comparison, rule, at.reach) if html else {}
        at.step("writing")
        page = comparison.write(pages)
    console, stamp = make_console(), comparison.stamp
    console.print(stamp.sentence, soft_wrap=True)
    to_terminal(console, comparison_document(comparison))
    for name in pages:
        console.print(f"Open {page.with_name(stamp.prefix + name)} in a browser for the decision.", soft_wrap=True)
    console.print(f"Open {page} in a browser. {stamp.sentence}", soft_wrap=True)
