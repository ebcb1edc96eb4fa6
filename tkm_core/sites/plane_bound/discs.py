"""The burden that somebody bears wherever k facilities stand: the radius that k discs cannot cover.

With burdens log w_i + t f_i (f_i itself at infinite t), everyone is within a burden b if k discs around the facilities'
places hold them all; the radius of resident i is that at which their burden is b. Discs of the same radius around the
residents show where a facility reaches which of them: it is enough to look at the residents and at the points where two
of these circles meet. A few residents decide it: if k facilities cannot reach these few, they cannot reach everyone. If
they can, a resident who was left out is added, and so on.
"""

import math
from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import Problem, descend, nearest
from tkm_core.sites.cover import smallest_cover
from tkm_core.sites.solver import Deadline

WIDER = 1e-10  # relative: radii with which discs are tried, so that rounding cannot lose one
PATIENCE = 0.4  # share of the remaining time for one burden
MOST_CHOSEN = 300  # residents looked at together


@dataclass
class Burden:
    """A burden that is exceeded in every plan, and the best plan for the heaviest one."""

    bound: float
    centers: Floats


@dataclass
class Discs:
    """Residents, their weights (which add up to 1), and existing facilities, whose squared distance is ``far``."""

    problem: Problem
    t: float
    fixed: Floats
    far: Floats
    logs: Floats

    @property
    def rate(self) -> float:
        """What a squared distance is multiplied with in a burden."""
        return 1.0 if math.isinf(self.t) else self.t

    def radii2(self, b: float) -> Floats:
        """The squared distance at which each resident's burden is b."""
        return (b - self.logs) / self.rate

    def heaviest(self, centers: Floats) -> float:
        """The heaviest burden in a plan."""
        return float((self.logs + self.rate * nearest(self.problem.X, centers)[1]).max())

    def search(self, centers: Floats, close: float, deadline: Deadline) -> Burden:
        """Halve the interval of burdens that are neither reached nor excluded, until it is ``close``.

        A burden that cannot be decided is passed over for a smaller one, which still raises the bound.
        """
        X, k = self.problem.X, self.problem.n_free
        best, high = centers, self.heaviest(centers)
        low = float(self.logs.max())
        chosen = self._spread(centers, min(3 * k + 2, len(X)))
        # most plans are nearly best: try just below them before halving
        middle = high - 1e-3 * abs(high - low)
        while high - low > close * max(abs(high), abs(high - low)) and deadline.left > 0:
            answer, chosen = self._covered(middle, chosen, deadline.part(PATIENCE * deadline.left))
            if answer is None:
                high = middle
            elif not len(answer):
                low = middle
            else:
                found = np.vstack([answer, self.fixed]) if len(self.fixed) else answer
                moved = descend(self.problem, found, math.inf).centers if math.isinf(self.t) else found
                best = min((best, found, moved), key=self.heaviest)
                high = max(min(middle, self.heaviest(best)), low)
            middle = (low + high) / 2
        return Burden(low, best)

    def _spread(self, centers: Floats, count: int) -> Ints:
        """Residents far from each other, beginning with the one with the heaviest burden."""
        X = self.problem.X
        burden = self.logs + self.rate * nearest(X, centers)[1]
        chosen = [int(burden.argmax())]
        away = np.minimum(((X - X[chosen[0]]) ** 2).sum(axis=1), self.far)
        for _ in range(count - 1):
            chosen.append(int((self.logs + self.rate * away).argmax()))
            away = np.minimum(away, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
        return np.unique(chosen)

    def _covered(self, b: float, chosen: Ints, deadline: Deadline) -> tuple[Floats | None, Ints]:
        """Places of k facilities that leave everyone within b, no places if there are none, None if it is open."""
        X, k = self.problem.X, self.problem.n_free
        radii2 = self.radii2(b)
        waiting = self.far > radii2
        if not waiting.any():
            return np.repeat(X[:1], k, axis=0), chosen
        while deadline.left > 0 and len(chosen) <= MOST_CHOSEN:
            few = chosen[waiting[chosen]]
            if len(few):
                places, covers = _discs(X[few], radii2[few])
                found, needed = smallest_cover(covers, deadline, enough=k)
                if needed > k:
                    return np.empty((0, 2)), chosen
                if len(found) > k:
                    return None, chosen
                centers = places[found]
            else:
                centers = np.empty((0, 2))
            if len(centers) < k:
                centers = np.vstack([centers, np.repeat(X[:1], k - len(centers), axis=0)])
            excess = nearest(X, centers)[1] - radii2 * (1 + 3 * WIDER)
            left = np.flatnonzero(waiting & (excess > 0))
            if not len(left):
                return centers, chosen
            worst = left[np.argsort(-excess[left], kind="stable")]
            new: list[int] = []
            for i in worst:  # a few that are far from each other
                if all(((X[i] - X[j]) ** 2).sum() > 0.25 * radii2[i] for j in new):
                    new.append(int(i))
                if len(new) == 3:
                    break
            if np.isin(new, chosen).all():
                break
            chosen = np.unique(np.append(chosen, new))
        return None, chosen


def _discs(X: Floats, radii2: Floats) -> tuple[Floats, np.ndarray]:
    """Places where a facility may stand, and which residents it then reaches (places, n)."""
    radii = np.sqrt(np.maximum(radii2, 0.0)) * (1 + WIDER / 4)
    one, other = np.triu_indices(len(X), 1)
    across = X[other] - X[one]
    d2 = (across**2).sum(axis=1)
    meet = (d2 > 0) & (d2 <= (radii[one] + radii[other]) ** 2)
    one, other, across, d2 = one[meet], other[meet], across[meet], d2[meet]
    along = (d2 + radii[one] ** 2 - radii[other] ** 2) / (2 * d2)
    aside2 = radii[one] ** 2 / d2 - along**2
    ok = aside2 >= 0  # otherwise one circle lies within the other
    one, across, along, aside = one[ok], across[ok], along[ok], np.sqrt(aside2[ok])
    middle = X[one] + along[:, None] * across
    turned = across[:, ::-1] * [-1.0, 1.0] * aside[:, None]
    places = np.vstack([X, middle + turned, middle - turned])
    reach = ((places[:, None] - X) ** 2).sum(axis=2) <= np.maximum(radii2, 0.0) * (1 + 2 * WIDER)
    reach[: len(X)] |= np.eye(len(X), dtype=bool)
    _, first = np.unique(np.packbits(reach, axis=1), axis=0, return_index=True)
    return places[first], np.ascontiguousarray(reach[first])
