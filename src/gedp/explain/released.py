"""What a release promises, and all releases from the same data together, in sentences that whoever shows it shares."""

from gedp.accounting.composition import power
from gedp.explain.over_periods import charged_sentences
from gedp.explain.wording import promise_sentence
from gedp.ledger.amounts import mu_up
from gedp.numbers import bound, counted
from gedp.policy import Spec, price
from gedp.release import Manifest

FALSE_ALARMS = 0.05


def released_promise(manifest: Manifest) -> list[str]:
    """All that is promised: by a release, and by all releases from the same data where that is less."""
    promise, *others = explained_promise(manifest.spec, manifest)
    series = manifest.together.series if others and manifest.together else None
    return [promise, *others, *(series.sentences if series else ()), *charged_sentences(manifest.spec)]


def explained_promise(spec: Spec, released: Manifest | None = None) -> list[str]:
    """The promise of a spec; of a release from it, beside what holds over all releases from the same data."""
    others = [] if released is None else all_releases(released)
    return [promise_sentence(price(spec).total.mu, spec.policy.unit, spec.nouns, is_alone=bool(others)), *others]


def all_releases(manifest: Manifest) -> list[str]:
    """What all releases from the same data promise together; nothing where this release promises the same."""
    said = manifest.together
    if said is None or (said.releases == 1 and not said.decisions and said.mu == mu_up(manifest.prices.total)):
        return []
    # The texts have all digits, so protections are equal where their texts are.
    own = {name: str(attribute.protection) for name, attribute in manifest.spec.policy.attributes.items()}
    narrower = [f"{name}: {text}" for name, text in said.attributes.items() if own.get(name, text) != text]
    reached = bound(float(power(float(said.mu), FALSE_ALARMS)))
    parts = [
        f"The ledger of these data counts {counted(said.releases, 'release')}. Together they promise μ = {said.mu}: at "
        f"5% false alarms, an attacker who has them all recognises a true difference with a chance of {reached}."
    ]
    if narrower:
        parts.append(f"For all of them together these narrower intervals hold: {'; '.join(narrower)}.")
    parts += [
        f"On {d.date} {d.by} decided to promise less than earlier releases did: {'; '.join(d.what)}. Reason: {d.reason}"
        for d in said.decisions
    ]
    return parts
