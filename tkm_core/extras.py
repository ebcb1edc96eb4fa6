"""Optional dependencies: which extra installs a missing package."""

EXTRAS = {
    "raster": ("rasterio",),
    "streets": ("osmium",),
    "plot": ("orjson", "PIL", "plotly", "pydeck"),
    "cluster": ("dask", "distributed", "fsspec"),
    "app": ("authlib", "httpx", "starlette", "streamlit", "uvicorn"),
}
"""Packages of each extra by the name they are imported with; all others come with "geo"."""
OF_ROOM = {"figures": "plot", "streets": "streets"}
"""The extra that brings all that a room needs, where "geo" is not enough."""


def needs_extra(what: str, missing: ModuleNotFoundError, extra: str = "") -> ModuleNotFoundError:
    """The error that says which extra installs a missing package; `extra` if one brings all that is needed.

    Examples
    --------
    >>> print(needs_extra("make_plan", ModuleNotFoundError("No module named 'pandas'", name="pandas")))
    make_plan needs pandas, which is not installed: pip install 'evenreach[geo]' brings it.
    >>> print(needs_extra("plot", ModuleNotFoundError("No module named 'pandas'", name="pandas"), "plot"))
    plot needs pandas, which is not installed: pip install 'evenreach[plot]' brings it.
    """
    package = (missing.name or "").split(".")[0]
    extra = extra or next((extra for extra, packages in EXTRAS.items() if package in packages), "geo")
    msg = f"{what} needs {package}, which is not installed: pip install 'evenreach[{extra}]' brings it."
    return ModuleNotFoundError(msg, name=missing.name)
