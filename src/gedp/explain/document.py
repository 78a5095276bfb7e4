"""What a policy promises and costs, as a document for the terminal and for the page of a policy meeting."""

from collections.abc import Mapping, Sequence

from gedp import web
from gedp.accounting.composition import PrivacyLoss
from gedp.documents import Block, Document, Heading, Lines, OnPage, Paragraph
from gedp.explain.expected import error_lines, errors_sentence
from gedp.explain.facts import (
    ProtectionGroup,
    Record,
    Sizes,
    all_publishers,
    between_records,
    existence_rows,
    other_accounting,
    protection_groups,
    titled,
    warnings,
)
from gedp.explain.over_periods import explained_series
from gedp.explain.released import explained_promise
from gedp.explain.tables import importance_table, interval_table, person_table, power_table, price_table, record_table
from gedp.explain.wording import (
    existence_sentences,
    missing_sentences,
    other_accounting_sentences,
    pool_sentence,
    record_sentence,
    sampling_sentences,
)
from gedp.numbers import strength
from gedp.policy import Spec, price
from gedp.release import Labels, Manifest
from gedp.release.words import AS_WRITTEN, Words


def explain_document(
    spec: Spec,
    title: str,
    sizes: Sizes = (),
    records: tuple[Record, Record] | None = None,
    released: Manifest | None = None,
    others: Mapping[str, Spec] | None = None,
    words: Words = AS_WRITTEN,
) -> Document:
    """All that there is to explain; the page has controls in the place of intervals, power and surveys.

    `sizes` replaces our choice of values to show, `records` are two to tell apart, `others` are specs of other
    publishers by name. Of a release it also says what is promised together with all others from the same data.
    """
    prices = price(spec)
    loss = prices.total
    groups = [titled(group, words.attribute) for group in protection_groups(spec.policy, sizes)]
    blocks: list[Block] = [
        *(Paragraph(sentence, "promise") for sentence in explained_promise(spec, released)),
        *warning_blocks(spec, loss),
        OnPage(web.fill("explain.html", mu_most=f"{max(6.0, 2 * loss.mu):.2f}"), _settings(groups, loss, spec)),
        Heading("People inside an establishment"),
        *(person_table(group, loss) for group in groups if group.person is not None),
        *(_records(spec, loss, *records, words) if records else ()),
        *_section("Existence", existence_sentences(groups, existence_rows(groups, loss))),
        *_section("Missing values", missing_sentences(Labels(spec))),
        *_section("Over several periods", explained_series(spec, released)),
        *price_blocks(spec, words),
        *_section("Errors to expect, table by table", [errors_sentence(spec)]),
        Lines(error_lines(spec, words)),
        *_section("In other frameworks", other_accounting_sentences(other_accounting(prices))),
        *(_together(spec, others) if others else ()),
    ]
    return Document(f"What the policy “{title}” promises", blocks)


def warning_blocks(spec: Spec, loss: PrivacyLoss) -> list[Block]:
    """What the policy names and yet fails to protect."""
    return [Paragraph(warning, "warning") for warning in warnings(spec, loss)]


def price_blocks(spec: Spec, words: Words = AS_WRITTEN) -> list[Block]:
    """What every query and attribute costs, or how much it counts, and whether the total is within budget."""
    prices = price(spec)
    blocks: list[Block] = [Heading("What it costs")]
    if spec.is_individual:
        blocks += [importance_table(spec, words), Paragraph(pool_sentence(prices, words))]
    return [*blocks, price_table(prices, words)]


def _settings(groups: Sequence[ProtectionGroup], loss: PrivacyLoss, spec: Spec) -> list[Block]:
    """What the controls of the page would show of the spec's own setting."""
    surveys = _section("What a survey would tell", sampling_sentences(groups))
    return [*map(interval_table, groups), power_table(loss, spec.policy.unit, spec.nouns), *surveys]


def _records(spec: Spec, loss: PrivacyLoss, x: Record, y: Record, words: Words) -> list[Block]:
    apart = between_records(spec, loss, x, y)
    table = record_table(x, y, apart, words)
    return [Heading("One record against another"), table, Paragraph(record_sentence(apart))]


def _together(spec: Spec, others: Mapping[str, Spec]) -> list[Block]:
    """What still holds when other publishers release statistics about the same establishments."""
    promise = all_publishers([spec, *others.values()])
    releases = "Both" if len(others) == 1 else f"All {len(others) + 1}"
    said = f"{releases} releases together promise μ = {strength(promise.loss.mu)} within these intervals:"
    intervals = [f"{name}: {protection}" for name, protection in promise.protections.items()]
    return [*_section(f"Together with {', '.join(others)}", [said]), Lines(intervals)]


def _section(heading: str, sentences: Sequence[str]) -> list[Block]:
    return [Heading(heading), *map(Paragraph, sentences)]
