"""Describe a portfolio: the few plans that need discussing, in a sentence each."""

from dataclasses import dataclass

from tkm_core.planning import Choice, Plan, short_portfolio
from tkm_core.stories.setting_story import tell_setting
from tkm_core.wording import dial_text, number_word


@dataclass(frozen=True)
class PortfolioStory:
    """A portfolio in words.

    Attributes
    ----------
    heading : str
    settings : tuple of int
        The settings of the dial that need discussing, in its order.
    names : tuple of str
        The setting of each, and the range of settings it represents.
    sentences : tuple of str
        What each of them means for residents.
    """

    heading: str
    settings: tuple[int, ...]
    names: tuple[str, ...]
    sentences: tuple[str, ...]


def portfolio_story(
    plan: Plan,
    tolerance: float | None = None,
    *,
    also: int | None = None,
    unit: str = "km",
    people: str = "residents",
) -> PortfolioStory:
    """The few plans that need discussing, in words.

    Parameters
    ----------
    plan : Plan
    tolerance : float, optional
        As in `Plan.portfolio`; by default the first of 1, 2, 5, 10, 20 % at which four plans or fewer are enough.
    also : int, optional
        A setting that is listed in any case, such as the one a report is about.
    unit : {"km", "mi"}
    people : str
        What residents are called.

    Returns
    -------
    PortfolioStory

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, t=[0, 0.1, 1, 10])
    >>> len(portfolio_story(plan).settings) <= 4
    True
    """
    few: tuple[Choice, ...]
    tolerance, few = short_portfolio(plan) if tolerance is None else (tolerance, plan.portfolio(tolerance))
    within = f"within {100 * tolerance:g} % of that setting’s own cost."
    which, one = (
        ("This one plan is", "it")
        if len(few) == 1
        else (f"These {number_word(len(few))} plans are", "one of them")
    )
    names = {choice.i: f"t = {dial_text(plan.t[choice.i])}{_reach(plan, choice)}" for choice in few}
    if also is not None:
        names.setdefault(also, f"t = {dial_text(plan.t[also])}")
    settings = tuple(sorted(names))
    beside = " The current plan is listed with them." if len(names) > len(few) else ""
    return PortfolioStory(
        f"{which} all you need to discuss: at every setting of the dial {one} is {within}{beside}",
        settings,
        tuple(names[i] for i in settings),
        tuple(tell_setting(plan, i, unit=unit, people=people).headline_text for i in settings),
    )


def _reach(plan: Plan, choice: Choice) -> str:
    """The settings that a plan stands for, if they are more than its own."""
    first, last = (dial_text(plan.t[i]) for i in (choice.stands_for[0], choice.stands_for[-1]))
    return f" (for t from {first} to {last})" if first != last else ""


def tell_portfolio(
    plan: Plan, tolerance: float | None = 0.01, *, unit: str = "km", people: str = "residents"
) -> tuple[str, ...]:
    """A heading and a sentence for each plan of the portfolio.

    Parameters
    ----------
    plan : Plan
    tolerance : float, optional
        As in `Plan.portfolio`; None for the first of 1, 2, 5, 10, 20 % at which four plans or fewer are enough.
    unit : {"km", "mi"}
    people : str
        What residents are called.

    Returns
    -------
    tuple of str
        The heading first.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, t=[0, 0.1])
    >>> for line in tell_portfolio(plan, 0.5, people="homes"):
    ...     print(line)
    This one plan is all you need to discuss: at every setting of the dial it is within 50 % of that setting’s own cost.
    t = 0.1 (for t from 0 to 0.1): The farthest home is ... away; the average trip is ....
    """
    told = portfolio_story(plan, tolerance, unit=unit, people=people)
    return (told.heading, *(f"{name}: {what}" for name, what in zip(told.names, told.sentences, strict=True)))
