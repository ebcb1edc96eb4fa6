"""All methods, in the order in which they are shown."""

from tkm_core.methods import fr, jkl, kmeanspp, mv, nf, sfr, tkm
from tkm_core.methods.method import Method

REGISTRY: dict[str, Method] = {
    method.name: method
    for method in (tkm.METHOD, kmeanspp.METHOD, nf.METHOD, jkl.METHOD, mv.METHOD, fr.METHOD, sfr.METHOD)
}
METHODS: tuple[str, ...] = tuple(REGISTRY)


def describe(name: str) -> Method:
    """The registry entry of a method: title, description, source, options and their defaults.

    Examples
    --------
    >>> describe("jkl").title, describe("jkl").centers_are_points
    ('JKL', True)
    >>> describe("lloyd")
    Traceback (most recent call last):
    ValueError: There is no method 'lloyd'; choose one of tkm, kmeans++, nf, jkl, mv, fr, sfr.
    """
    if name not in REGISTRY:
        msg = f"There is no method {name!r}; choose one of {', '.join(METHODS)}."
        raise ValueError(msg)
    return REGISTRY[name]
