"""The report of a release for the public, as one self-contained page. Sees the release and its microdata alone."""

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from gedp.explain.released import all_releases
from gedp.explain.wording import combined_sentences, missing_sentences
from gedp.margins import relative, with_margin
from gedp.markup import Html, html_table
from gedp.microdata import Microdata
from gedp.numbers import counted, in_words
from gedp.policy import COUNT, Spec
from gedp.policy.measures import MECHANISMS
from gedp.release import Labels, Manifest
from gedp.release.answered import Answered
from gedp.release.notices import SEEDED, SYNTHETIC
from gedp.report import check, strength, use
from gedp.report.charts import SINGLE_MARK, bar, bar_scale, error_chart, mark
from gedp.report.errors import ErrorsOfAlike, TableErrors, release_errors
from gedp.report.maps import map_of
from gedp.report.sharing import shared_budget
from gedp.report.totals import Amount, ReportedTotals, TotalsByGroup, main_totals
from gedp.web import asset, fill, page

MOST_CHARTS = 6
_OF_MICRODATA = ("rows", "detail", "negatives", "shell", "python")
_NAV = {
    True: '<a href="#microdata">The microdata</a>',
    False: '<a href="#microdata">Tables of your own</a>',
}


def report_page(
    microdata: Microdata,
    described: Mapping[str, Any] | None,
    *,
    title: str | None = None,
    links: bool,
    totals: ReportedTotals | None = None,
) -> str:
    """The whole page as HTML.

    `described` is the content of microdata.json, None where there are no microdata. `links` says whether the page lies
    beside the files of the release, so that it can link to them. `totals` are worked out unless they are given.
    """
    release, spec = microdata.release, microdata.public_rows.spec
    manifest = release.manifest
    title, labels = title or check.title_of_release(release), release.labels
    totals = main_totals(microdata) if totals is None else totals
    errors = release_errors(release, spec)
    body = fill(
        "report.html",
        title=escape(title),
        kicker="Not protected" if manifest.is_seeded else "Protected statistics",
        made=escape(" ".join([*_publisher(spec), check.made(manifest)])),
        banners=_banners(manifest),
        tiles=_tiles(manifest, labels, totals, strength.attacker_chance(manifest.prices)),
        totals_from=_totals_from(microdata),
        sums="; sums of the microdata are usually more accurate" if microdata.fits else "",
        confidence=f"{100 * totals.confidence:g}%",
        of_hundred=f"{100 * totals.confidence:g}",
        totals=_totals(microdata, totals, errors),
        noise=_noise(manifest),
        shared=shared_budget(manifest, labels),
        errors="".join(map(_errors, errors[:MOST_CHARTS])) + _more(errors),
        tables=_tables(microdata, errors, links),
        check=check.checksums(release, described),
        cite=escape(check.citation(title, release)),
        constrained=_notes([*missing_sentences(labels), *use.constrained(microdata), *combined_sentences(labels)]),
        nav=_NAV[bool(microdata.fits)],
        use=_use(microdata),
        **strength.texts(labels, manifest, microdata.public_rows.lists_establishments),
    )
    return page(title, body, style=asset("report.css"))


def _totals_from(microdata: Microdata) -> str:
    """Where the main totals come from."""
    if not all(fit.agreement.is_complete for fit in microdata.measured.values()):
        return "From the tables that say most about them; since there are many tables, they may not add up exactly."
    source = "the microdata, which combine all tables" if microdata.fits else "all tables together"
    return f"From {source}, so they add up and are closer to the truth than the tables alone."


def scaled(amount: Amount, scale: int) -> tuple[str, str]:
    """An amount and its margin as they are shown, in so many units."""
    return with_margin(amount.estimate / scale, None if amount.margin is None else amount.margin / scale)


def _publisher(spec: Spec) -> list[str]:
    publisher = spec.publication.publisher
    return [f"Published by {publisher}."] if publisher else []


def _notes(texts: Sequence[str]) -> str:
    return "".join(f'<p class="note">{escape(text)}</p>' for text in texts)


def _use(microdata: Microdata) -> str:
    """The microdata and how to use them; where there are none, why, and what tables can be made."""
    if microdata.fits:
        texts = use.texts(microdata)
        return fill("report_microdata.html", **{name: texts[name] for name in _OF_MICRODATA})
    allowed = {name: ", ".join(fit.groupings()) for name, fit in microdata.measured.items()}
    alike: dict[str, list[str]] = {}
    for name, groupings in allowed.items():
        alike.setdefault(groupings, []).append(name)
    items = "".join(f"<li>{escape(', '.join(names))}: by {escape(by)}</li>" for by, names in alike.items())
    by = min((each.by for fit in microdata.measured.values() for each in fit.tables), key=_least_keys)
    name = next(name for name, fit in microdata.measured.items() if fit.allows(by))
    words = ["gedp", "tabulate", ".", *(["--by", ",".join(by)] if by else []), "--attribute", name]
    return fill("report_tables.html", groupings=items, shell=escape(shlex.join(words)))


def _least_keys(by: tuple[str, ...]) -> tuple[bool, int]:
    """For an example: few keys, but some."""
    return not by, len(by)


def _banners(manifest: Manifest) -> str:
    seeded = f'<p class="banner" role="alert">{SEEDED}</p>' if manifest.is_seeded else ""
    return seeded + (f'<p class="note">{SYNTHETIC}</p>' if manifest.spec.data.synthetic else "")


def _tiles(manifest: Manifest, labels: Labels, totals: ReportedTotals, chance: str) -> str:
    tables = len(manifest.tables)
    figures = sum(answered.groups * len(answered.noise) for answered in manifest.tables)
    name, amount = next(iter(totals.all_together.items()))
    whole, margin = scaled(amount, labels.scale(name))
    alone = " from this release alone" if all_releases(manifest) else ""
    tiles = [
        (f"{manifest.establishments:,}", "establishments, each protected"),
        (f"{figures:,}", f"figures in {counted(tables, 'table')}, none withheld"),
        (f"{whole} ± {margin}", f"{labels.heading(name)}, all together"),
        (chance, f"is an attacker’s chance of telling two close records apart{alone}, at 5% false alarms"),
    ]
    return "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>" for number, what in tiles)


def _totals(microdata: Microdata, totals: ReportedTotals, errors: tuple[ErrorsOfAlike, ...]) -> str:
    labels, rows = microdata.release.labels, []
    for name, amount in totals.all_together.items():
        rows.append([labels.heading(name), *scaled(amount, labels.scale(name)), relative(amount.relative)])
    parts = [html_table("All establishments together", ["", "total", "margin ±", "relative standard error"], rows)]
    charted = [alike.attributes[0].name for alike in errors][:MOST_CHARTS]
    for grouping in totals.groupings:
        shown = [name for name in charted if name in grouping.of_attribute]
        bars = "".join(_bars(labels, grouping, name, totals.confidence) for name in shown)
        drawn = map_of(microdata, grouping, charted[0])
        parts.append(f'<h3>By {escape(grouping.name)}</h3>{drawn}<div class="side">{bars}</div>')
        if len(grouping.of_attribute) > len(shown):
            parts.append(_all_attributes(labels, grouping))
    if totals.too_many:
        listed = ", ".join(totals.too_many)
        parts.append(f"<p>Too many groups to show here, but in the tables: {escape(listed)}.</p>")
    return "".join(parts)


def _all_attributes(labels: Labels, grouping: TotalsByGroup) -> str:
    """A line for each of the largest groups of the first attribute, with the figures of all attributes."""
    rows = [
        [label, *(_with_margin(amount, labels.scale(name)) for name, amount in of_group.items())]
        for label, of_group in grouping.lines
    ]
    which = "all groups" if len(rows) == grouping.groups else f"the largest {len(rows)} of {grouping.groups:,} groups"
    headings = [grouping.name, *map(labels.heading, grouping.of_attribute)]
    return f'<div class="known">{html_table(f"By {grouping.name}: {which}", headings, rows)}</div>'


def _with_margin(amount: Amount, scale: int) -> str:
    """A figure in a cell."""
    number, margin = scaled(amount, scale)
    return Html(f'{escape(number)} <span class="margin">± {escape(margin)}</span>')


def _bars(labels: Labels, grouping: TotalsByGroup, name: str, confidence: float) -> str:
    """The largest groups: label, number and bar in every row, so that the figure is a table too."""
    amounts = grouping.of_attribute[name]
    scale = bar_scale(amount for _, amount in amounts)
    rows = []
    for label, amount in amounts:
        number, margin = scaled(amount, labels.scale(name))
        text = Html(f'{escape(number)} <span class="margin">± {escape(margin)}</span>')
        rows.append([label, text, bar(amount, *scale)])
    which = "all" if len(amounts) == grouping.groups else f"the largest {len(amounts)} of {grouping.groups:,} groups"
    caption = f"{labels.heading(name)} by {grouping.name}: {which}"
    label = f"Bars of {caption}, with {100 * confidence:g}% confidence intervals. The numbers are beside the bars."
    table = html_table(caption, [grouping.name, f"{labels.title(name)} ± margin", ""], rows)
    return f'<figure class="bars" role="group" aria-label="{escape(label)}">{table}</figure>'


def _errors(errors: ErrorsOfAlike) -> str:
    """The figure of relative errors by size, and the same as a table."""
    heading = f"<h3>{escape(errors.names)}</h3>"
    if not errors.edges():
        return heading + "<p>No table of this release has a figure above 0 here.</p>"
    items = [f"<li>{mark(at)}{escape(table.title)}</li>" for at, table in enumerate(errors.tables)]
    if errors.sigma is not None:
        items.append(f"<li>{SINGLE_MARK}a single establishment</li>")
    explained = (
        "Lines: the median at that size; shading: the middle 80% of figures; dots: some single figures. Both scales "
        "are logarithmic."
    )
    label = f"Relative standard error of {errors.names} by size of the figure. {_summary(errors)}"
    figure = (
        f'<figure class="side">{error_chart(errors, label)}<figcaption>Relative standard error by size of '
        f'{escape(errors.names)}.<ul class="legend">{"".join(items)}</ul>{explained}</figcaption></figure>'
    )
    return f"{heading}<p>{escape(_summary(errors))}</p>{figure}{_size_table(errors)}"


def _summary(errors: ErrorsOfAlike) -> str:
    """What the figure shows, in a sentence."""
    said = [f"{table.title} {relative(table.typical())}" for table in errors.tables if table.sizes.size]
    return f"Half of the figures of each table have a relative standard error below: {'; '.join(said)}."


def _size_table(errors: ErrorsOfAlike) -> str:
    edges = errors.edges()
    bounds = [(0.0, edges[0]), *zip(edges, [*edges[1:], math.inf], strict=True)]
    rows = []
    if any(table.others for table in errors.tables):
        rows.append(["0 or less", *(_count(table.others) for table in errors.tables), *_single(errors, 0.0, 0.0)])
    for low, high in bounds:
        size = f"{in_words(low)} to {in_words(high)}" if low else f"below {in_words(high)}"
        size = size if high < math.inf else f"{in_words(low)} or more"
        cells = [_typical(table, low, high) for table in errors.tables]
        rows.append([size, *cells, *_single(errors, low, high)])
    headings = ["size", *(table.title for table in errors.tables), *_single(errors, None, None)]
    table = html_table("Typical relative standard error, and number of figures", headings, rows)
    return f'<div class="sizes">{table}</div>'


def _typical(table: TableErrors, low: float, high: float) -> str:
    count = int(((table.sizes >= low) & (table.sizes < high)).sum())
    return f"{relative(table.typical(low, high))} ({count:,})" if count else ""


def _count(count: int) -> str:
    return f"({count:,})" if count else ""


def _single(errors: ErrorsOfAlike, low: float | None, high: float | None) -> list[str]:
    """The column of single establishments, where the release has answers for them: at the middle of a decade."""
    if errors.sigma is None:
        return []
    if low is None or high is None:
        return ["single establishment"]
    if not high:
        return [""]
    single = errors.single(10**0.5 * low if low else high / 10**0.5)
    return [relative(None if single is None else float(single))]


def _more(errors: tuple[ErrorsOfAlike, ...]) -> str:
    left = errors[MOST_CHARTS:]
    tables = "".join(f"<h3>{escape(e.names)}</h3>{_size_table(e)}" for e in left if e.edges())
    return f"<details><summary>More attributes</summary>{tables}</details>" if tables else ""


def _tables(microdata: Microdata, errors: tuple[ErrorsOfAlike, ...], links: bool) -> str:
    release, labels = microdata.release, microdata.release.labels
    alike = errors[:MOST_CHARTS]
    typical = {(table.query, i): table.typical() for i, group in enumerate(alike) for table in group.tables}
    rows = []
    for answered in release.manifest.answered:
        name = answered.query.name
        shown = [relative(typical[name, i]) if (name, i) in typical else "" for i in range(len(alike))]
        file = _file(answered.file if answered.is_identity else f"tables/{name}.csv", links)
        rows.append([*_described(answered, labels), *shown, file])
    headings = [
        "table",
        "one row for each",
        "groups",
        "noise (figures)",
        *(f"typical error of {e.names}" for e in alike),
        "file",
    ]
    caption = f"{counted(len(release.manifest.tables), 'table')}, also as .parquet"
    return f'<div class="tables">{html_table(caption, headings, rows)}</div>'


def _described(answered: Answered, labels: Labels) -> list[str]:
    """The title of a table, what its rows are, their number, and how many figures carry which noise."""
    query = answered.query
    by = "establishment" if answered.is_identity else " × ".join(map(labels.title, query.by)) or "all together"
    kinds = Counter[str]()
    for each in answered.noise.values():
        for kind, groups in each.groups.items():
            kinds[kind] += groups - each.certain
    noise = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items() if count)
    if answered.is_identity:
        noise = "psi"
    title = labels.of_query(query)
    if query.combinations:
        title += f" ({', '.join(map(labels.title, query.asked))})"
    return [title, by, f"{answered.groups:,}", noise or "none"]


def _of_counts(manifest: Manifest) -> str:
    """What numbers of establishments by class carry."""
    if not any(COUNT in each.noise for each in manifest.answered):
        return ""
    return " Numbers of establishments by class carry whole-number noise of known size (<code>count</code>)."


def _noise(manifest: Manifest) -> str:
    """Which kinds of noise the figures of the tables carry, in words."""
    return _of_sums(manifest) + _of_counts(manifest)


def _of_sums(manifest: Manifest) -> str:
    tables = [answered for answered in manifest.tables if answered.query.is_plain]
    noises = [noise for answered in tables for noise in answered.noise.values()]
    with_psi, with_pnc = (any(noise.groups[name] for noise in noises) for name in MECHANISMS)
    psi = f"<code>psi</code> noise, which {escape(_growth(manifest.spec))}"
    pnc = (
        "<code>pnc</code> noise (probably no clipping), which depends on the largest establishments of the group and "
        "whose size is known exactly"
    )
    if not (with_psi and with_pnc):
        return f"The figures carry {pnc if with_pnc else psi}."
    chosen = any(answered.query.mechanism == "auto" for answered in tables)
    smaller = " Where there was a choice, it is the one that was expected to be smaller." if chosen else ""
    return f"A figure carries either {psi}, or {pnc}.{smaller}"


def _growth(spec: Spec) -> str:
    """How psi noise depends on the figure: not at all where ψ is linear."""
    constant = [name for name in spec.asked if spec.policy.attributes[name].protection.psi.has_constant_variance]
    if len(constant) == len(spec.asked):
        return "has the same size for all figures of a table"
    return "grows with the figure" + (f" (but not that of {', '.join(constant)})" if constant else "")


def _file(name: str, links: bool) -> str:
    return Html(f'<a href="{escape(quote(name))}">{escape(name)}</a>') if links else name
