"""Streets of the sample cities."""

from tkm_core.progress import Progress
from tkm_core.residents import SAMPLES, find_sample
from tkm_core.streets.loading import load_streets
from tkm_core.streets.model import Streets
from tkm_core.streets.rules import StreetsError


def sample_streets(key: str, *, mode: str = "walk", progress: Progress | None = None) -> Streets:
    """Load the streets of a sample city.

    Parameters
    ----------
    key : str
        A sample with streets: "porto-alegre".
    mode : str
        How people travel.
    progress : callable, optional
        Called with the fraction done and a sentence; an exception it raises stops the work.

    Returns
    -------
    Streets

    Raises
    ------
    StreetsError
        If there is no such sample, or it has no streets.

    Examples
    --------
    >>> sample_streets("porto-alegre", mode="car")
    <Streets “Porto Alegre, with its streets”, car: 12,682 junctions, 1,620 km>
    >>> sample_streets("toulouse")
    Traceback (most recent call last):
    ...
    tkm_core.streets.rules.StreetsError: The sample “toulouse” has no streets. These have: porto-alegre.
    """
    sample = find_sample(key)
    file = sample.streets_path if sample else None
    if sample is None or file is None:
        what = f"The sample “{key}” has no streets" if sample else f"There is no sample called {key!r}"
        having = ", ".join(one.key for one in SAMPLES.values() if one.streets_file)
        msg = f"{what}. These have: {having}."
        raise StreetsError(msg)
    return load_streets(file, mode=mode, name=sample.title, areas=True, progress=progress)
