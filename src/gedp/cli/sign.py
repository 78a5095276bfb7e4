"""`gedp sign`: a signature of a release, which the public can check."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command()
@click.argument("folder", metavar="[DIR]", type=PATH, required=False)
@click.option("--key", type=PATH, help="Private Ed25519 key (PEM or OpenSSH).")
@click.option("--new-key", type=PATH, help="Create a private key in this file, and its public key beside it.")
@click.option("--passphrase-file", type=PATH, help="File whose first line is the passphrase of the private key.")
def command(folder: Path | None, key: Path | None, new_key: Path | None, passphrase_file: Path | None) -> None:
    """Sign every file of the release in DIR, including its microdata and report.

    Make those first. Writes SHA256SUMS and SHA256SUMS.sig. Anybody can check them with `gedp verify`, or with openssl
    and sha256sum. Publish the public key where people trust it, and keep the private one where nobody else can read it.

    \b
    Examples:
      gedp sign --new-key publisher.key
      gedp sign out --key publisher.key
      gedp verify out --key publisher.key.pub
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.release import read_release
    from gedp.release.signing import make_key, read_passphrase, sign

    passphrase = None if passphrase_file is None else read_passphrase(passphrase_file)
    if new_key is not None:
        if folder is not None or key is not None:
            raise click.UsageError("--new-key only makes keys: leave out DIR and --key")
        public = make_key(new_key, passphrase)
        click.echo(f"Wrote the private key to {new_key}, for you alone, and the public key to {public}, for everybody.")
        return
    if folder is None or key is None:
        raise click.UsageError("name the folder of a release and the private key: gedp sign DIR --key KEY")
    release = read_release(folder)
    names = sign(release, key, passphrase)
    click.echo(f"Signed {len(names)} files in {folder}. Anybody can check this: gedp verify {folder} --key PUBLIC-KEY")
    warn_if_seeded(release.manifest)
