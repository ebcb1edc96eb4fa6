"""Names of files: which city, how many facilities, which setting of the dial, and which rules."""

import re
from collections import Counter

from tkm_core.planning import Plan

LONGEST = 40  # letters of a title in a file's name


def as_file_name(title: str, otherwise: str = "plan") -> str:
    """A title as part of a file's name: letters of any script and digits, all else as hyphens.

    Examples
    --------
    >>> as_file_name("St. John’s / North"), as_file_name("مدينة الرياض"), as_file_name("../..")
    ('st-john-s-north', 'مدينة-الرياض', 'plan')
    """
    return re.sub(r"[\W_]+", "-", title).strip("-").lower()[:LONGEST].rstrip("-") or otherwise


def file_stem(plan: Plan, i: int, title: str) -> str:
    """The name of a plan's files, without their suffix: plans that differ in their rules have different names.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    title : str
        Of the data.

    Returns
    -------
    str

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> city = load_sample("generated", n=300)
    >>> file_stem(make_plan(city, 3, t=[0, 0.25]), 1, "My city")
    'my-city-k3-t0.25'
    >>> file_stem(make_plan(city, 3, t=[0, 1], fixed_lonlat=city.lonlat[:4], closed=[1], capacity=90), 1, "My city")
    'my-city-k3-t1-3-existing-1-closed-at-most-90'
    """
    kinds = Counter(kind for kind in plan.kinds if kind != "new")
    if plan.closed:
        kinds["closed"] = len(plan.closed)
    dial = [f"t{plan.t[i]:g}"] if plan.k else []
    existing = [f"{count}-{kind}" for kind, count in kinds.items()]
    return "-".join([as_file_name(title), f"k{plan.k}", *dial, *existing, *plan.rules.tags])
