"""Registry of all methods, in the order in which they are shown."""

from tkm_core.methods import cdcs, fairlloyd, fasttkm, fr, jkl, kmeanspp, lspp, minimax, mv, nf, sfr, tkm
from tkm_core.methods.method import Method

REGISTRY: dict[str, Method] = {
    method.name: method
    for method in (
        tkm.METHOD,
        kmeanspp.METHOD,
        nf.METHOD,
        jkl.METHOD,
        mv.METHOD,
        fr.METHOD,
        sfr.METHOD,
        minimax.METHOD,
        fasttkm.METHOD,
        lspp.METHOD,
        cdcs.METHOD,
        fairlloyd.METHOD,
    )
}
METHODS: tuple[str, ...] = tuple(REGISTRY)
FOR_ANYONE: tuple[str, ...] = tuple(name for name, method in REGISTRY.items() if not method.needs_groups)
OWN, BASELINE = tkm.METHOD.name, kmeanspp.METHOD.name  # the method of this library, and the baseline


def describe(name: str) -> Method:
    """The registry entry of a method: title, description, source, options and their defaults.

    Examples
    --------
    >>> describe("jkl").title, describe("jkl").centers_are_points
    ('JKL', True)
    >>> describe("nf").keeps_existing, describe("jkl").keeps_existing
    (True, False)
    >>> describe("lloyd")
    Traceback (most recent call last):
    ValueError: There is no method 'lloyd'; choose one of tkm, kmeans++, nf, jkl, mv, ...
    """
    if name not in REGISTRY:
        msg = f"There is no method {name!r}; choose one of {', '.join(METHODS)}."
        raise ValueError(msg)
    return REGISTRY[name]
