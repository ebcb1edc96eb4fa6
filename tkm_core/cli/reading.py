"""Read the residents of a command: a sample, a file, or files that do not fit into memory."""

import argparse
from typing import TYPE_CHECKING, Any

from tkm_core.cli.arguments import READING
from tkm_core.cli.terminal import progress_bar, say

if TYPE_CHECKING:
    from tkm_core.residents import Residents


def read_residents(arguments: argparse.Namespace) -> "tuple[Residents, str]":
    """Read the file, or load the sample of that name; return the residents and what to call them."""
    from tkm_core.planning import beyond_memory
    from tkm_core.residents import load_residents, load_sample, sample_meant

    given: dict[str, Any] = {
        name: getattr(arguments, name) or False for name in READING if getattr(arguments, name) is not None
    }
    if beyond_memory(arguments.file, arguments.scheduler):
        return _cells(arguments, given), "residents"
    sample = sample_meant(arguments.file)
    if sample is not None:
        say(f"{sample.title}. {sample.description} Source: {sample.source} Licence: {sample.licence}")
        return load_sample(sample.key, seed=arguments.seed), sample.unit_name
    more = {"total": arguments.total, "keep_suspect": arguments.keep_suspect}
    return load_residents(arguments.file, **more, **given), "residents"


def _cells(arguments: argparse.Namespace, given: dict[str, Any]) -> "Residents":
    """Condense files that do not fit into memory."""
    from tkm_core.planning import condense_residents

    possible = {"x", "y", "weight", "crs"}
    asked = [f"--{name}" for name in given if name not in possible]
    asked += ["--total"] if arguments.total else []
    if asked:
        msg = (
            f"{' and '.join(asked)} cannot be used with data beyond memory; --x, --y, --weight and --crs can."
        )
        raise ValueError(msg)
    with progress_bar() as progress:
        return condense_residents(arguments.file, scheduler=arguments.scheduler, progress=progress, **given)
