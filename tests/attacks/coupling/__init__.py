"""Exact checks of whole releases: two neighboring tables, and noise chosen so that both give the same release.

The real `gedp.run`, or `gedp.ask`, answers about both worlds. In the first, noise is wild, so that bounds fail. In the
second, every draw is chosen such that the noisy number equals that of the first world. If the promise holds, then

- both worlds ask for noise of the same sizes, in the same order,
- both folders, or answers on file, are the same byte for byte,
- the squared distance between the two worlds' noise, in units of its size, is at most the μ² that the ledger charged;
  or k² times as much for records that are k steps apart.

Given the releases so far, each noisy number is a Gaussian whose mean differs by that distance between the worlds, so
these three together are μ-gedp for the pair: nothing is sampled, and nothing has to be believed. docs/privacy-audit.md
explains it. `python -m tests.attacks.coupling` prints the figures.

door      the noise of both worlds
worlds    random specs, tables and their neighbors
own       queries of one's own
couple    both releases, compared
planted   faults that must be found
"""
