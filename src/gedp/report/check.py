"""When a release was made, and how to check that a copy of it is the one that was released."""

from collections.abc import Mapping
from html import escape
from typing import Any

from gedp.files import sha256
from gedp.markup import Html, html_table
from gedp.release import MANIFEST, Manifest, ReleaseFolder
from gedp.release.derived import MICRODATA, SIGNATURE, SUMS

#: The publisher's public key, beside the folder: inside, it would be a file that nobody signed.
KEY = "../publisher.key.pub"
CHECK_SIGNATURE = f"openssl pkeyutl -verify -pubin -inkey {KEY} -rawin -in {SUMS} -sigfile {SIGNATURE}"
CHECK = f"{CHECK_SIGNATURE} && sha256sum --check {SUMS}"


def made(manifest: Manifest) -> str:
    """When the release was made, under which name in the ledger, and with which source of noise."""
    day = manifest.created
    release = f", release {manifest.release}" if manifest.release else ""
    noise = "a seed" if manifest.is_seeded else "AES-256 keyed by the operating system’s random numbers"
    return f"Made on {day.day} {day:%B %Y}{release}, with gedp {manifest.gedp} and noise from {noise}."


def checksums(release: ReleaseFolder, described: Mapping[str, Any] | None) -> str:
    """The checksums that stand for everything, and what to do with them."""
    rows = [
        [name, Html(f"<code>{escape(str(digest))}</code>")]
        for name, digest in ((MANIFEST, manifest_sha256(release)), (MICRODATA, described and described["sha256"]))
        if digest
    ]
    said = (
        f"<p>{MANIFEST} holds the policy, its price and a checksum of every table. Compare its own checksum with the "
        "one that the publisher gives; <code>gedp tabulate .</code> then refuses files that are not as released.</p>"
        f"<p>Where the publisher has signed the release, {SUMS} and {SIGNATURE} are among its files. With the "
        f"publisher’s public key, <code>gedp verify . --key {KEY}</code> checks every file. Without gedp, use this:</p>"
        f'<pre tabindex="0"><code>{escape(CHECK)}</code></pre>'
    )
    return f'{said}<div class="sums">{html_table("SHA-256", ["file", "checksum"], rows)}</div>'


def title_of_release(release: ReleaseFolder) -> str:
    """What people call what is published: as the spec says, or what it is about."""
    said = release.manifest.spec.publication.title
    return said or f"Statistics on {release.manifest.establishments:,} establishments"


def citation(title: str, release: ReleaseFolder) -> str:
    """How to refer to this release and no other."""
    manifest = release.manifest
    named = f" Release {manifest.release}," if manifest.release else ""
    publisher = manifest.spec.publication.publisher
    by = f"{publisher}: " if publisher else ""
    return f"{by}{title}.{named} {manifest.created:%Y-%m-%d}, manifest SHA-256 {manifest_sha256(release)[:16]}…"


def manifest_sha256(release: ReleaseFolder) -> str:
    """The checksum of the manifest as it is on disk."""
    return sha256(release.folder / MANIFEST)
