"""What a plan under rules is based on: its places, its scale, what is proven, and remarks for planners."""

from dataclasses import dataclass, replace

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.planning.serving import Known
from tkm_core.sites import told_gap

PROVED = 1e-8  # relative gap at which a plan counts as proven best


@dataclass(frozen=True, eq=False)
class Grounds:
    """What a plan under rules is based on.

    Attributes
    ----------
    scale : float
        Metres or minutes in whose units t is a pure number.
    known : Known or None
        The places the plan uses, with their distances.
    places : int ndarray of shape (m, k + n_existing) or None
        Which of them each facility stands on at every setting.
    cost, bound : ndarray of shape (m,) or None
        City-wide cost of the chosen plan, and a lower bound on that of any plan on the same sites.
    among : str
        Which plans the bound is about: "these sites".
    made : str
        How the lowest-average plan was made.
    remarks : tuple of str
        Remarks for planners: who lives far from any street, which sites were left out.
    """

    scale: float
    known: Known | None = None
    places: Ints | None = None
    cost: Floats | None = None
    bound: Floats | None = None
    among: str = "these sites"
    made: str = "k-means++"
    remarks: tuple[str, ...] = ()

    @property
    def gap(self) -> Floats | None:
        """The largest share of its cost by which each plan could be improved."""
        if self.cost is None or self.bound is None:
            return None
        below = np.maximum(self.cost - self.bound, 0.0)
        return np.divide(below, self.cost, out=np.zeros_like(below), where=self.cost > 0)

    def proof(self, i: int) -> str:
        """What is proven about the plan at setting i, as a sentence; "" if nothing is.

        The bound is about the cost at this setting. Another setting may still have a shorter average and no longer
        trip: see `Plan.dominated`.
        """
        gap = self.gap
        if gap is None:
            return ""
        return told_gap(0.0 if gap[i] <= PROVED else float(gap[i]), self.among)

    def at(self, which: Ints) -> "Grounds":
        """The same for selected settings, which may repeat."""
        places = None if self.places is None else self.places[which]
        cost, bound = (None if one is None else one[which] for one in (self.cost, self.bound))
        return replace(self, places=places, cost=cost, bound=bound)
