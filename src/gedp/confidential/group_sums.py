"""Sums by public groups, once their noise is known: every group is answered by ψ of its sum or by its clipped sum.

Which of the two, and with how much noise, follows from identity answers: for a whole group under the paper's rule
(gedp.confidential.answering), from what every row pays under individual accounting (gedp.confidential.individual).
"""

from collections.abc import Callable
from dataclasses import dataclass

from gedp.arrays import BoolArray, IntArray
from gedp.confidential.answers import Answers
from gedp.estimates import ESTIMATED, EXACT, Estimates
from gedp.neighbors.estimates import PsiAnswers
from gedp.noise.entropy import Entropy
from gedp.noise.sums import SumGrid
from gedp.release.answered import AttributeNoise


@dataclass(frozen=True, repr=False)
class SumNoise:
    """How every group of a query is answered for one attribute."""

    by_psi: BoolArray
    answer_psi: Callable[..., PsiAnswers]  # takes the sums of the groups by ψ, in units, and an entropy
    clipped: SumGrid | None  # for the sums of the other groups, in units; None where there are none
    sigma_psi: float | None  # None where every group has noise of its own

    @property
    def described(self) -> AttributeNoise:
        """What the manifest says of it."""
        by_psi = int(self.by_psi.sum())
        return AttributeNoise(self.sigma_psi, {"psi": by_psi, "pnc": len(self.by_psi) - by_psi})

    def answer(self, sums: IntArray, clipped: IntArray, unit: float, confidence: float, entropy: Entropy) -> Answers:
        """The answers for all groups, from their sums and from their sums of clipped values, in units."""
        result, by_psi = Answers.empty(len(sums)), self.by_psi
        if by_psi.any():
            answers = self.answer_psi(sums[by_psi], entropy=entropy)
            kind = EXACT if answers.psi.has_constant_variance else ESTIMATED
            estimated = Estimates.of_kind(answers.estimate(), answers.variance(), kind)
            result.put(by_psi, estimated.between(*answers.interval(confidence)), "psi", answers.sigma)
        if self.clipped is not None:
            noisy = self.clipped.noisy(clipped[~by_psi], entropy) * unit
            found = Estimates.of_kind(noisy, self.clipped.variance * unit**2, EXACT)
            result.put(~by_psi, found.with_interval(confidence), "pnc", self.clipped.sigma * unit)
        return result
