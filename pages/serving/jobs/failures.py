"""Why a reader could not read a file: a known kind of problem with its sentence, never an exception as such."""

import re
from pathlib import PurePath
from traceback import extract_tb
from typing import Any

from pages.serving.jobs.answers import AnswerError, Packed, require
from pages.serving.jobs.forms import packed_report, unpacked_report
from pages.serving.jobs.problems import UnreadableError
from tkm_core.residents import ResidentsError

LONGEST = 5_000  # characters of a sentence
WHERE = re.compile(r"\w{1,80}( in [\w.]{1,80}, line \d{1,6})?", re.ASCII)
SENTENCES = ("ResidentsError", "StreetsError", "PlanFileError", "ValueError", "MemoryError")


def packed_problem(problem: BaseException) -> Packed:
    """A problem as plain data; of one that nobody expected, only its kind and where it was raised.

    Examples
    --------
    >>> unpacked_problem(packed_problem(ResidentsError("Which column counts people?", needs="weight"))).needs
    'weight'
    >>> packed_problem(KeyError("the name of a resident")).about
    {'kind': 'unexpected', 'where': 'KeyError'}
    """
    kind = type(problem).__name__
    if kind not in SENTENCES:
        frames = extract_tb(problem.__traceback__)
        at = f" in {PurePath(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
        return Packed({"kind": "unexpected", "where": kind + at}, {})
    about: dict[str, Any] = {"kind": kind, "sentence": str(problem)[:LONGEST]}
    for name in ("needs", "suggestions"):
        about[name] = getattr(problem, name, None)
    report = getattr(problem, "report", None)
    about["report"] = None if report is None else packed_report(report)
    return Packed(about, {})


def unpacked_problem(packed: Packed) -> Exception:
    """The problem that a reader had, as an exception with a sentence."""
    about = packed.about
    kind = about["kind"]
    if kind == "unexpected":
        told = str(about["where"])
        return UnreadableError(told if WHERE.fullmatch(told) else "")
    sentence, needs, likely = about["sentence"], about["needs"], about["suggestions"] or []
    require(isinstance(sentence, str) and len(sentence) <= LONGEST, "a sentence that is none")
    require(isinstance(needs, str | None) and isinstance(likely, list), "an unknown need")
    if kind == "ResidentsError":
        suggestions = [(str(value), str(name)) for value, name in likely]
        report = None if about["report"] is None else unpacked_report(about["report"])
        return ResidentsError(sentence, needs=needs, suggestions=suggestions, report=report)
    if kind == "StreetsError":
        from tkm_core.streets import StreetsError

        return StreetsError(sentence, needs=needs, suggestions=tuple(map(str, likely)))
    if kind == "PlanFileError":
        from tkm_core.export import PlanFileError

        return PlanFileError(sentence)
    if kind == "MemoryError":
        return MemoryError(sentence)
    if kind == "ValueError":
        return ValueError(sentence)
    msg = "an unknown problem"
    raise AnswerError(msg)
