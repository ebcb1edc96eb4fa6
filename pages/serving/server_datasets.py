"""Data sets of this server: Parquet files in a folder that whoever runs it names; visitors choose among their names."""

from dataclasses import dataclass
from pathlib import Path

from pages.serving.config import config

MOST = 100  # that are listed


@dataclass(frozen=True)
class ServerDataset:
    """A file, or a folder of files.

    Attributes
    ----------
    name : str
        As visitors see it: the name of the file or folder, without its ending.
    path : str
    megabytes : float
        All files together.
    stamp : str
        Changes when the files do.
    """

    name: str
    path: str
    megabytes: float
    stamp: str


def listed(folder: str | None = None) -> list[ServerDataset]:
    """What the folder holds; nothing if none is named, or it cannot be read. Links that lead out of it are left out.

    Parameters
    ----------
    folder : str, optional
        By default the one of the settings.
    """
    named = config().datasets if folder is None else folder
    if not named:
        return []
    root = Path(named).resolve()
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return []
    found = [_described(entry, root) for entry in entries if not entry.name.startswith((".", "_"))]
    return [each for each in found if each is not None][:MOST]


def _described(entry: Path, root: Path) -> ServerDataset | None:
    """One data set, if the entry is a Parquet file or a folder with some, all of them below the root."""
    try:
        files = sorted(entry.rglob("*.parquet")) if entry.is_dir() else [entry]
        files = [file for file in files if file.is_file()]
        if (
            not files
            or entry.suffix not in ("", ".parquet", ".geoparquet")
            or (entry.is_file() and not entry.suffix)
        ):
            return None
        if not all(file.resolve().is_relative_to(root) for file in files):
            return None
        stats = [file.stat() for file in files]
    except OSError:
        return None
    stamp = f"{len(files)} {sum(stat.st_size for stat in stats)} {max(stat.st_mtime_ns for stat in stats)}"
    return ServerDataset(entry.stem, str(entry), sum(stat.st_size for stat in stats) / 1e6, stamp)
