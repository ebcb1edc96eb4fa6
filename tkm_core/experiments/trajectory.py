"""Experiment: how the facilities move as t grows from 0.01 (blue) to 100 (red)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from sklearn.decomposition import PCA

from tkm_core.arrays import Floats
from tkm_core.clustering import tilted_path
from tkm_core.evaluation import evaluate
from tkm_core.experiments.data import two_blobs
from tkm_core.experiments.drawing import panels, place
from tkm_core.experiments.model import SAMPLE_SIZE, Experiment, Job, Result, Run, Sample
from tkm_core.figures import palette, to_hex
from tkm_core.progress import Progress

DIALS = tuple(np.geomspace(0.01, 100.0, 60).tolist())
TICKS = (0.01, 0.1, 1, 10, 100)


def trajectory(run: Run, *, k: Sequence[int], t: Sequence[float]) -> Result:
    """Follow every facility over t on the exact path.

    Parameters
    ----------
    run : Run
        If its data have more than two columns, the figure shows the first two principal components; it is drawn from
        the first sample.
    k : sequence of int
        Numbers of facilities, one panel each.
    t : sequence of float
        The dial; at least one value above 0.

    Returns
    -------
    Result
        One row per facility and t: its position, and the tilted SSE, SSE, mean and largest distance at that t.
        ``arrangement`` changes where the best plan jumps to another arrangement.

    Examples
    --------
    >>> from tkm_core.experiments import blobs
    >>> EXPERIMENT.run([blobs(2, seed=0)], k=(2,), t=(0.01, 100.0)).table["facility"].tolist()
    [1, 2, 1, 2]
    """

    def job(sample: Sample, facilities: int) -> Job:
        """The job of one sample and number of facilities."""
        source = sample.source

        def work(report: Progress) -> pd.DataFrame:
            """Compute the path and its measures."""
            X, weights = sample.draw()
            path = tilted_path(
                X,
                facilities,
                t=list(t),
                sample_weight=weights,
                scale=1.0,
                random_state=sample.seed,
                progress=report,
            )
            rows = []
            for i, dial in enumerate(path.t):
                found = evaluate(X, path.centers[i], t=dial, sample_weight=weights)
                shared = {
                    "data": source.name, "k": facilities, "repeat": sample.repeat, "t": dial,
                    "arrangement": path.arrangement[i], "tilted_sse": found.tilted_sse, "sse": found.sse,
                    "mean_distance": found.mean_distance, "largest_distance": found.largest_distance,
                }  # fmt: skip
                rows += [
                    {**shared, "facility": j + 1, **dict(zip(source.columns, center, strict=True))}
                    for j, center in enumerate(path.centers[i])
                ]
            return pd.DataFrame(rows)

        return sample.words(f"k = {facilities}"), work

    drawn = list(run.samples())
    jobs = [job(sample, facilities) for sample in drawn for facilities in k]
    table, stopped = run.gather(jobs)
    figure = _draw(table, [each for each in drawn if each.repeat == 0], run.theme)
    return Result(table, figure, (*_findings(table), *stopped), not stopped)


def _draw(table: pd.DataFrame, drawn: Sequence[Sample], theme: str) -> go.Figure:
    """One panel per data set and k: points in the colours of their clusters, facilities from blue to red."""
    colors = palette(theme)
    first = table[table["repeat"] == 0]
    shown = [
        (sample, k)
        for sample in drawn
        for k in sorted(first.loc[first["data"] == sample.source.name, "k"].unique())
    ]
    titles = [f"{sample.source.name}, k = {k}" for sample, k in shown]
    figure = panels(titles, x="", y="", theme=theme, height=420)
    low, high = np.log10(max(float(table["t"].min()), 1e-6)), np.log10(float(table["t"].max()))
    stops = np.linspace(low, high, 21)
    scale = [
        [float(share), to_hex(tint)]
        for share, tint in zip(np.linspace(0, 1, 21), colors.along_path(10**stops), strict=True)
    ]
    for number, (sample, k) in enumerate(shown):
        source, where = sample.source, place(number, len(shown))
        mine = first[(first["data"] == source.name) & (first["k"] == k)]
        points, _ = sample.draw()
        plane = _plane(points)
        last = mine[mine["t"] == mine["t"].max()]
        labels = evaluate(points, last[list(source.columns)].to_numpy()).labels
        flat = plane(points)
        figure.add_scatter(
            x=flat[:, 0].round(4).tolist(), y=flat[:, 1].round(4).tolist(), mode="markers", hoverinfo="skip",
            showlegend=False,
            marker={"size": 5, "opacity": 0.55, "color": [to_hex(colors.facility(j)) for j in labels]},
            **where,
        )  # fmt: skip
        for _, way in mine.groupby("facility"):
            spots = plane(way[list(source.columns)].to_numpy())
            x, y = _with_gaps(spots, way["arrangement"].to_numpy())
            figure.add_scatter(
                x=x, y=y, mode="lines", line={"width": 2, "color": colors.ink}, hoverinfo="skip",
                showlegend=False, **where,
            )  # fmt: skip
            figure.add_scatter(
                x=spots[:, 0].round(5).tolist(), y=spots[:, 1].round(5).tolist(),
                mode="markers", showlegend=False,
                customdata=way[["t", "facility"]].to_numpy().tolist(),
                hovertemplate="facility %{customdata[1]}, t = %{customdata[0]:.3g}<extra></extra>",
                marker={
                    "size": 9,
                    "color": np.log10(np.maximum(way["t"], 1e-6)).round(4).tolist(),
                    "coloraxis": "coloraxis",
                    "line": {"width": 0},
                },
                **where,
            )  # fmt: skip
        at = (where["row"] - 1) * min(2, len(shown)) + where["col"]
        figure.update_yaxes(scaleanchor=f"x{at if at > 1 else ''}", scaleratio=1, **where)
        if len(source.columns) > 2:
            figure.update_xaxes(title_text="first principal component", **where)
    ticks = [tick for tick in TICKS if low - 1e-9 <= np.log10(tick) <= high + 1e-9]
    figure.update_layout(
        coloraxis={
            "colorscale": scale, "cmin": low, "cmax": high,
            "colorbar": {"title": {"text": "t"}, "tickvals": np.log10(ticks).tolist(), "thickness": 14,
                         "ticktext": [f"{tick:g}" for tick in ticks], "outlinewidth": 0},
        }
    )  # fmt: skip
    return figure


class _plane:  # noqa: N801 - used as a function
    """Projects points of any dimension to the two axes that are drawn."""

    def __init__(self, points: Floats) -> None:
        self.pca = PCA(2).fit(points) if points.shape[1] > 2 else None

    def __call__(self, points: Floats) -> Floats:
        if self.pca is not None:
            return np.asarray(self.pca.transform(points))
        return points if points.shape[1] == 2 else np.column_stack([points, np.zeros(len(points))])


def _with_gaps(spots: Floats, arrangement: Floats) -> tuple[list[float | None], list[float | None]]:
    """A line's coordinates, with a gap where the arrangement jumps."""
    x: list[float | None] = []
    y: list[float | None] = []
    for i, spot in enumerate(spots.round(5).tolist()):
        if i and arrangement[i] != arrangement[i - 1]:
            x.append(None)
            y.append(None)
        x.append(spot[0])
        y.append(spot[1])
    return x, y


def _findings(table: pd.DataFrame) -> tuple[str, ...]:
    """Sentences: how largest and mean distance change from the first t to the last."""
    notes = []
    for (name, k), mine in table[table["repeat"] == 0].groupby(["data", "k"], sort=False):
        steps = mine.drop_duplicates("t").sort_values("t")
        start, end = steps.iloc[0], steps.iloc[-1]
        jumps = int((steps["arrangement"].diff().fillna(0) != 0).sum())
        falls = int((steps["tilted_sse"].diff() < -1e-9 * steps["tilted_sse"]).sum())
        notes.append(
            f"{name}, k = {k}: from t = {start['t']:g} to {end['t']:g} the largest distance goes from "
            f"{start['largest_distance']:.3g} to {end['largest_distance']:.3g}, the mean distance from "
            f"{start['mean_distance']:.3g} to {end['mean_distance']:.3g}; {jumps} jump(s) to another arrangement; "
            f"the tilted SSE falls in {falls} of {len(steps) - 1} steps of t."
        )
    return tuple(notes)


EXPERIMENT = Experiment(
    name="trajectory",
    title="Where facilities go as t grows",
    description="Every facility on its way from t = 0.01 (blue) to t = 100 (red): from the middle of "
    "the many towards the few who live far out.",
    paper_figure="Visualization of two synthetic 2-dimensional data sets",
    work=trajectory,
    data=two_blobs,
    settings={"repeats": 1, "k": (2, 3), "t": DIALS, "size": SAMPLE_SIZE},
)
