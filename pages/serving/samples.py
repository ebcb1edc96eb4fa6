"""Load sample cities, each once per process."""

from pages.serving.cache import caches
from pages.serving.city import City
from tkm_core.residents import ResidentsError, find_sample, load_sample


def sample(key: str) -> City:
    """A sample, loaded once per process."""
    found = find_sample(key)
    if found is None:
        msg = f"There is no sample called {key!r}."
        raise ResidentsError(msg)

    def load() -> City:
        return City(key, found.title, found.unit_name, load_sample(key), f"{found.source} {found.licence}")

    return caches().cities.once(key, load, weight=max(found.size, 1000))
