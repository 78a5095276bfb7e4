"""`gedp verify`: whether a release or a package is as its publisher signed it."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--key", type=PATH, help="The publisher's public key. Without it only the checksums are checked.")
def command(folder: Path, key: Path | None) -> None:
    """Check that a release or package is as it was made, with no other files; with a key, that its owner signed it.

    Exit codes: 0 they are, 1 they are not, 2 there is no release, package, signature or key to check.

    \b
    Examples:
      gedp verify out
      gedp verify out --key publisher.key.pub
      gedp verify package --key publisher.key.pub
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.publication.verify import VerifiedPackage, is_package, verify_package
    from gedp.release import MANIFEST, Manifest
    from gedp.release.signing import verify

    checked: Manifest | VerifiedPackage
    if is_package(folder) and not (folder / MANIFEST).exists():
        checked = verify_package(folder, key)
        found = "file in {} matches its checksum. Only a signature can show who made the package"
    else:
        checked = verify(folder, key).manifest
        found = (
            "table in {} matches its manifest, and there are no other files than those of a release. Only a signature "
            "can show who wrote the manifest, and whether the microdata and report are theirs"
        )
    if key is None:
        click.echo(f"Every {found.format(folder)}: --key PUBLIC-KEY")
    else:
        click.echo(f"Every file in {folder} is as the owner of {key} signed it.")
    warn_if_seeded(checked)
