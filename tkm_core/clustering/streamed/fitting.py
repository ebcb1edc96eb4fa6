"""`TiltedKMeans` for data beyond memory: a search on cells, then exact passes; predictions are lazy."""

from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.checks import check_clusters, check_fixed, check_t, warn_of_units
from tkm_core.clustering.frame import served
from tkm_core.clustering.streamed.path import condensed, finish, length_of
from tkm_core.extras import needs_extra
from tkm_core.partitions import Piece, Rows, over_rows

SEARCHES = 16  # on the cells, where they are cheap compared with a pass over the rows
Model = TypeVar("Model", bound=Any)


def fit_streamed(model: Model, rows: Rows) -> Model:
    """Set the attributes of a `TiltedKMeans` from passes over rows."""
    if model.solver != "newton":
        msg = f"solver={model.solver!r} needs all rows in memory; beyond it only 'newton' works."
        raise ValueError(msg)
    fixed = check_fixed(model.fixed_centers, rows.n_columns)
    with over_rows(rows) as passes:
        known = condensed(passes)
        k = check_clusters(model.n_clusters, known.count)
        length = length_of(model.scale, known)
        if model.scale is None:
            warn_of_units([check_t(model.t)], known.scale, stacklevel=4)
        searches = SEARCHES if model.n_init == "auto" and isinstance(model.init, str) else model.n_init
        on_cells = clone(model).set_params(scale=length, n_init=searches)
        on_cells.fit(known.X, sample_weight=known.weights)
        start = np.vstack([on_cells.cluster_centers_[:k], fixed])
        found = finish(passes, known, start[None], np.array([check_t(model.t)]), length, k, model.criterion)
    model.cluster_centers_ = found.centers[0]
    model.scale_ = length
    model.history_ = found.history[:, :2]
    model.n_iter_ = 1
    model.city_cost_, model.tilted_sse_ = float(found.history[0, 0]), float(found.history[0, 1])
    model.inertia_ = float(found.history[0, 2]) * found.weight
    model.n_features_in_ = rows.n_columns
    model._n_features_out = len(model.cluster_centers_)
    try:
        model.labels_ = lazy_labels(rows, model.cluster_centers_)
    except ModuleNotFoundError:  # Parquet files are read without Dask, too
        model.__dict__.pop("labels_", None)
    return model


def lazy_labels(rows: Rows, centers: Floats) -> Any:
    """The nearest facility of each row as a Dask array, in the pieces of the rows."""
    try:
        import dask.array as da
        from dask.delayed import delayed
    except ModuleNotFoundError as missing:
        error = needs_extra("predict on data beyond memory", missing)
        raise error from missing
    parts = [
        da.from_delayed(
            delayed(labels_of, pure=False)(piece.delayed(), centers),
            shape=(np.nan if piece.n_rows is None else piece.n_rows,),
            dtype=np.int32,
        )
        for piece in rows.pieces
    ]
    return da.concatenate(parts)


def labels_of(piece: Piece, centers: Floats) -> Labels:
    """The nearest facility of each row of a piece."""
    found = [served(block.X, centers)[0] for block in piece.blocks() if len(block.X)]
    return np.concatenate(found) if found else np.empty(0, np.int32)
