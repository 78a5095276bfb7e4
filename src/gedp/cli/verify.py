"""`gedp verify`: whether a release is as its publisher signed it."""

from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option("--key", type=_PATH, help="The publisher's public key. Without it only the checksums are checked.")
def command(folder: Path, key: Path | None) -> None:
    """Check that every file of the release in DIR is as it was released and, with a key, that its owner signed it.

    Exit codes: 0 it is, 1 it is not, 2 there is no release, signature or key to check.

    \b
    Examples:
      gedp verify out
      gedp verify out --key publisher.key.pub
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.release import read_release
    from gedp.release.signing import verify

    if key is None:
        release = read_release(folder)
        click.echo(
            f"Every table in {folder} matches its manifest. Only a signature can show who wrote the manifest, and "
            "whether the microdata and report are theirs: --key PUBLIC-KEY"
        )
    else:
        release = verify(folder, key)
        click.echo(f"Every file in {folder} is as the owner of {key} signed it.")
    warn_if_seeded(release.manifest)
