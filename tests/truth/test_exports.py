"""Exports: who goes where, the facilities and the plan file agree with each other and with residents and sites."""

import json
import math

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tests.truth import slowly
from tests.truth.cities import CASES, NAMES, SETTINGS
from tests.truth.recomputed import exported_trips, limits, recomputed
from tkm_core.export import FORMATS, allocations, facilities, layers, plan_document, service_areas, to_bytes
from tkm_core.planning import by_group, most_changed

SMALL = 0.0011  # files round metres and minutes to three digits


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_who_goes_where_is_the_cheapest_way_the_rules_allow(case, i):
    plan, people = case.make(), case.residents.weights
    trips = exported_trips(case, plan, i)
    spots = facilities(plan, i)[["lon", "lat"]].to_numpy()
    far = case.far(case.residents.lonlat, spots)
    for resident, count in enumerate(people):
        assert math.fsum(one.people for one in trips if one.resident == resident) == pytest.approx(count)
    assert len({(one.resident, one.facility) for one in trips}) == len(trips)
    if not case.limited:
        best = far.min(axis=1)
        assert all(one.distance == pytest.approx(best[one.resident], abs=SMALL) for one in trips)
        return
    most, least = limits(case, plan, spots, i)
    for j in range(len(spots)):
        load = math.fsum(one.people for one in trips if one.facility == j)
        assert least[j] * (1 - 1e-9) - 1e-6 <= load <= most[j] * (1 + 1e-9) + 1e-6
    t = float(plan.t[i]) / plan.scale**2
    if math.isinf(t):
        best = slowly.with_room(far, people, most, least, t)
        assert slowly.cost(trips, t) == pytest.approx(slowly.cost(best, t), rel=1e-9)
    else:
        assert slowly.improvement(trips, far, most, least, t) < 1e-5


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_the_files_say_how_far_it_is_and_how_far_it_was(case, i):
    plan, truth = case.make(), recomputed(case, i)
    unit = "m" if case.unit == "m" else "min"
    table = allocations(plan, i)
    was = {}
    for change in truth.changes:
        was.setdefault((change.resident, change.now), []).append((change.people, change.before))
    served = exported_trips(case, plan, i)
    assert len(table) == len(served)
    for one, distance, before, more in zip(
        served,
        table[f"distance_{unit}"],
        table[f"reference_distance_{unit}"],
        table[f"change_{unit}"],
        strict=True,
    ):
        assert distance == pytest.approx(one.distance, abs=SMALL, rel=1e-6)
        assert more == pytest.approx(distance - before, abs=1e-6)
        if one.people > 0:
            parts = was[one.resident, one.facility]
            usual = math.fsum(p * d for p, d in parts) / math.fsum(p for p, _ in parts)
            assert before == pytest.approx(usual, abs=2 * SMALL, rel=1e-4)


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_the_facilities_file_adds_up_to_who_goes_where(case, i):
    plan = case.make()
    unit = "m" if case.unit == "m" else "min"
    trips, sites, ground = exported_trips(case, plan, i), facilities(plan, i), service_areas(plan, i)
    for j, row in sites.reset_index(drop=True).iterrows():
        mine = [one for one in trips if one.facility == j and one.people > 0]
        served = math.fsum(one.people for one in mine)
        mean = math.fsum(one.people * one.distance for one in mine) / served if mine else 0.0
        assert row["people"] == pytest.approx(served, rel=1e-12, abs=1e-9)
        assert row[f"mean_distance_{unit}"] == pytest.approx(mean, abs=SMALL, rel=1e-6)
        longest = max((one.distance for one in mine), default=0.0)
        assert row[f"max_distance_{unit}"] == pytest.approx(longest, abs=SMALL, rel=1e-6)
        assert ground["people"].iloc[j] == row["people"]
    assert math.fsum(sites["people"]) == pytest.approx(math.fsum(case.residents.weights))


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("case", [case for case in CASES if case.limited], ids=lambda case: case.name)
def test_every_format_has_a_row_for_each_place_and_facility(case, name, tmp_path):
    plan = case.make()
    i = len(plan) - 1
    kind = FORMATS[name]
    path = tmp_path / f"who.{kind.suffix}"
    path.write_bytes(to_bytes(layers(plan, i, "allocations"), name))
    read = {"csv": pd.read_csv, "parquet": gpd.read_parquet}.get(name, gpd.read_file)(path)
    sums = read.astype({"people": float}).groupby(read["facility"].astype(int))["people"].sum()
    for _, row in facilities(plan, i).iterrows():
        assert sums.get(row["facility"], 0.0) == pytest.approx(row["people"], rel=1e-12, abs=1e-9)
    assert len(read) == len(allocations(plan, i))


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_the_figures_of_the_plan_file(case, i):
    truth = recomputed(case, i)
    document = json.loads(json.dumps(plan_document(truth.plan, i)))
    saved = document["figures_in_metres" if case.unit == "m" else "figures_in_minutes"]
    for side, figures in zip(("plan", "compared_with"), truth.figures, strict=True):
        for key, value in saved[side].items():
            if key != "tilted_sse":
                assert value == pytest.approx(figures[key], rel=1e-4, abs=1e-6), (side, key)
    spots = np.array(document["facilities_lonlat"])
    assert spots == pytest.approx(truth.spots, abs=1e-9)


@pytest.mark.parametrize(("case", "i"), SETTINGS, ids=NAMES)
def test_how_groups_and_places_fare(case, i):
    truth = recomputed(case, i)
    plan, groups = truth.plan, case.residents.groups
    unit = truth.units[0]
    size = {"km": 1000.0, "min": 1.0}[unit]
    for group in by_group(plan, i, unit=unit):
        mine = [one for one in truth.changes if groups[one.resident] == group.name]
        people = math.fsum(one.people for one in mine)
        assert group.people == pytest.approx(people)
        for row, after, before in (
            (
                group.average,
                *(
                    sum(one.people * getattr(one, side) for one in mine) / people
                    for side in ("after", "before")
                ),
            ),
            (group.farthest, *(max(getattr(one, side) for one in mine) for side in ("after", "before"))),
        ):
            step = 0.5001 * 10.0**-row.decimals
            assert row.plan == pytest.approx(after / size, abs=step)
            assert row.reference == pytest.approx(before / size, abs=step)
        least = 0.5 * 10.0**-group.average.decimals * size
        assert group.losers * people == pytest.approx(sum(one.people for one in mine if -one.gain >= least))
    names = groups if case.residents.places is None else case.residents.places
    for sign, found in zip((1, -1), most_changed(plan, i), strict=True):
        for place in found:
            mine = [one for one in truth.changes if names[one.resident] == place.name]
            people = math.fsum(one.people for one in mine)
            gain = math.fsum(one.people * one.gain for one in mine) / people
            assert (place.people, place.change) == (
                pytest.approx(people),
                pytest.approx(gain, rel=1e-4, abs=1e-3),
            )
            assert sign * gain > 0
