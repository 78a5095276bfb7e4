"""Where rows are read: the options of commands that go over all of them."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import click


def engine_options(function: Callable[..., None]) -> Callable[..., None]:
    """`--engine` and `--master`; the function gets the session of Spark, or None, as `session`."""

    @wraps(function)
    def with_session(*args: Any, engine: str, master: str | None, **kwargs: Any) -> None:
        from gedp.confidential.engines.session import new_session

        if master is not None and engine != "spark":
            raise click.UsageError("--master goes with --engine spark")
        with new_session(master) if engine == "spark" else nullcontext() as session:
            function(*args, session=session, **kwargs)

    with_engine = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        help="Where rows are read: by this process, or by workers of Spark, which needs the extra spark and Java 17.",
    )
    with_master = click.option(
        "--master", metavar="URL", help="Cluster for --engine spark. Default: all cores of this machine."
    )
    return with_engine(with_master(with_session))
