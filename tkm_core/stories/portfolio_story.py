"""What a portfolio says: the few plans that need discussing, one sentence each."""

from tkm_core.planning import Plan
from tkm_core.stories.setting_story import tell_setting
from tkm_core.wording import dial_text, number_word


def tell_portfolio(
    plan: Plan, tolerance: float = 0.01, *, unit: str = "km", people: str = "residents"
) -> tuple[str, ...]:
    """A heading and a sentence for each plan of the portfolio.

    Parameters
    ----------
    plan : Plan
    tolerance : float
        As in `Plan.portfolio`.
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
    few = plan.portfolio(tolerance)
    within = f"within {100 * tolerance:g} % of that setting’s own cost."
    which, one = (
        ("This one plan is", "it")
        if len(few) == 1
        else (f"These {number_word(len(few))} plans are", "one of them")
    )
    lines = [f"{which} all you need to discuss: at every setting of the dial {one} is {within}"]
    for choice in few:
        first, last = (dial_text(plan.t[i]) for i in (choice.stands_for[0], choice.stands_for[-1]))
        reach = f" (for t from {first} to {last})" if first != last else ""
        told = tell_setting(plan, choice.i, unit=unit, people=people).headline_text
        lines.append(f"t = {dial_text(plan.t[choice.i])}{reach}: {told}")
    return tuple(lines)
