"""Releases and rehearsals of queries that were made in Python, about a table that is open already."""

from collections.abc import Sequence
from typing import Any

from gedp.api import measure
from gedp.confidential.measure import rehearse
from gedp.confidential.table import ConfidentialTable
from gedp.policy import MicrodataOptions, Output, Policy, Query, Spec
from gedp.release import ReleaseFolder
from gedp.release.rehearsal import Rehearsal


def spec_of(
    table: ConfidentialTable,
    policy: Policy,
    queries: Sequence[Query],
    microdata: MicrodataOptions = MicrodataOptions(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
) -> Spec:
    """A spec that asks these queries about the table."""
    return Spec(table.data, policy, tuple(queries), table.groupers, microdata, output)


def measured(
    table: ConfidentialTable,
    policy: Policy,
    queries: Sequence[Query],
    microdata: MicrodataOptions = MicrodataOptions(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
    **options: Any,
) -> ReleaseFolder:
    """The release of these queries."""
    return measure(table, spec_of(table, policy, queries, microdata, output), **options)


def rehearsed(table: ConfidentialTable, policy: Policy, queries: Sequence[Query], **options: Any) -> Rehearsal:
    """The rehearsal of these queries."""
    return rehearse(table, spec_of(table, policy, queries), **options)
