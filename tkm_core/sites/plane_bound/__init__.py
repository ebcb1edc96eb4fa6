"""Prove how good facilities are that may stand anywhere: cells that shrink, prices of residents, covers by discs."""

from tkm_core.sites.plane_bound.proof import Proof, prove

__all__ = ["Proof", "prove"]
