"""A release: the protected answers, frozen, with a manifest that states the promise and the checksum of every file.

Everything here is public. This package and all that comes after it never see the confidential table.

manifest   what anybody may know about a release; answered: how every query was answered; individual: how the budget
           of establishments was spent; together, series_content: what holds for all releases, and for periods
protected  what a release and a rehearsal have in common
reader     the release as it lies in its folder; derived: what is made of it there; signing
labels     what people call its attributes, columns, codes and tables; estimated: tables with errors in notebooks;
           notices: what pages say where figures are not protected or not real
rehearsal  answers to be thrown away, in memory alone
writer     a release in the making; rows: in which order
"""

from gedp.folders import PlaceTakenError
from gedp.release.answered import IDENTITY, Answered, AttributeNoise
from gedp.release.cumulative import CumulativePromise, DecisionMade
from gedp.release.individual import Individual
from gedp.release.labels import Labels
from gedp.release.manifest import MANIFEST, MAPS, Manifest
from gedp.release.protected import ProtectedAnswers
from gedp.release.reader import (
    ANSWER_SCHEMA,
    ReleaseFolder,
    TamperedReleaseError,
    answer_schema,
    read_release,
)
from gedp.release.writer import ReleaseExistsError, ReleaseWriter, require_free

__all__ = [
    "ANSWER_SCHEMA",
    "IDENTITY",
    "MANIFEST",
    "MAPS",
    "Answered",
    "AttributeNoise",
    "CumulativePromise",
    "DecisionMade",
    "Individual",
    "Labels",
    "Manifest",
    "PlaceTakenError",
    "ProtectedAnswers",
    "ReleaseExistsError",
    "ReleaseFolder",
    "ReleaseWriter",
    "TamperedReleaseError",
    "answer_schema",
    "read_release",
    "require_free",
]
