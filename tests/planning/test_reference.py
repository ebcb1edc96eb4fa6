"""What a plan is compared with: today, the lowest average or a saved plan, checked against plain definitions."""

import json
import re

import numpy as np
import pytest

from tkm_core import export, figures
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan, saved_reference
from tkm_core.planning import AVERAGE, TODAY, Plan, Reference, by_group, compare_counts, make_plan
from tkm_core.residents import Residents, load_residents, load_sample
from tkm_core.residents.samples import FOLDER
from tkm_core.stories import tell_plan

MILE = 1609.344


@pytest.fixture(scope="module")
def city() -> Residents:
    return load_sample("san-francisco")


@pytest.fixture(scope="module")
def stores() -> tuple[np.ndarray, list[str]]:
    found = load_residents(FOLDER / "san-francisco-sites.csv", weight=False)
    return found.lonlat[:6], [f"Store {number}" for number in range(1, 7)]


@pytest.fixture(scope="module")
def plan(city: Residents, stores: tuple[np.ndarray, list[str]]) -> Plan:
    return make_plan(city, 3, t=[0, 0.5, 5], fixed_lonlat=stores[0], fixed_names=stores[1])


def trips(city: Residents, sites_xy: np.ndarray) -> np.ndarray:
    """Everyone's way to the nearest site, the slow way."""
    return np.array([min(np.hypot(*(home - site)) for site in sites_xy) for home in city.xy])


def test_existing_facilities_make_today_the_reference(city, plan, stores) -> None:
    assert plan.reference == TODAY
    assert make_plan(city, 2, t=[0]).reference == AVERAGE
    today, after = trips(city, city.lonlat_to_xy(stores[0])), trips(city, plan.centers_xy(1))
    np.testing.assert_allclose(plan.change(1), today - after, atol=1e-6)
    assert (plan.change(1) > -1e-6).all(), "who keeps every facility and gets three more loses nothing"


def test_the_story_is_told_against_the_reference(city, plan, stores) -> None:
    today, after = trips(city, city.lonlat_to_xy(stores[0])), trips(city, plan.centers_xy(1))
    gain, people = (today - after) / MILE, city.weights
    story = tell_plan(plan, 1, unit="mi", standard=1 * MILE)
    gaining = gain >= 0.005 if story.rows[0].decimals == 2 else gain >= 0.05
    share = 100 * people[gaining].sum() / people.sum()
    assert "travels" not in story.headline_text, "nothing closes, so that nobody travels farther is no news"
    assert f"{share:.0f} % of residents gain" in story.detail_text
    mean = np.average(gain[gaining], weights=people[gaining])
    assert f"{mean:.{story.rows[0].decimals}f} miles" in story.detail_text
    within = next(row for row in story.rows if row.key == "share_within")
    assert within.plan == pytest.approx(100 * people[after <= MILE].sum() / people.sum(), abs=0.06)
    assert within.reference == pytest.approx(100 * people[today <= MILE].sum() / people.sum(), abs=0.06)
    lowest = tell_plan(plan.against(AVERAGE), 1, unit="mi")
    assert lowest.headline_text.endswith("than in the lowest-average plan.")
    assert lowest.rows[0].reference != story.rows[0].reference


def test_everything_follows_the_reference(city, plan, stores) -> None:
    saved = Reference("saved", "Option <B>", stores[0][:2])
    other = plan.against(saved)
    before = trips(city, city.lonlat_to_xy(stores[0][:2]))
    assert other.reference_evaluation().mean_distance == pytest.approx(
        np.average(before, weights=city.weights)
    )
    np.testing.assert_allclose(export.allocations(other, 1)["reference_distance_m"], before, atol=1e-3)
    assert set(export.allocations(other, 1)["compared_with"]) == {"the plan “Option <B>”"}
    story, look = tell_plan(other, 1), figures.Look(colour="change")
    page = figures.html_report(other, 1, story, look, title="City")
    assert "Option &lt;B&gt;" in page and "Option <B>" not in page
    assert "k-means++" not in re.sub(r"<h2>Method</h2>.*", "", page, flags=re.DOTALL)
    ground = figures.MapGround.of(city)
    legend = figures.map_legend(figures.colour_scheme(other, look), ground, look, plan=other)
    assert "closer than in the plan “Option &lt;B&gt;”" in legend
    chart = figures.tradeoff(other, 1, look).to_dict()
    told = [trace.get("text") for trace in chart["data"]] + [
        note["text"] for note in chart["layout"]["annotations"]
    ]
    assert any("Option &lt;B&gt;" in str(text) for text in told)
    near = figures.distances(
        plan.evaluation(1), other.reference_evaluation(), city.weights, look, heading=other.reference.heading
    ).to_dict()
    assert any("Option &lt;B&gt;" in note["text"] for note in near["layout"]["annotations"])


def test_comparing_with_something_else_computes_no_plan_anew(plan) -> None:
    other = plan.against(AVERAGE)
    assert other.path is plan.path
    assert other.evaluation(1) is plan.evaluation(1)
    assert other.against(TODAY).change(1) == pytest.approx(plan.change(1))


def test_groups_and_counts_follow(city, stores) -> None:
    homes = Residents.from_lonlat(city.lonlat, city.weights, groups=["a", "b"] * 102 + ["a"])
    plan = make_plan(homes, 2, t=[0, 1], fixed_lonlat=stores[0])
    today = trips(homes, homes.lonlat_to_xy(stores[0])) / 1000
    for group in by_group(plan, 1):
        mine = np.array([name == group.name for name in homes.groups])
        assert group.average.reference == pytest.approx(
            np.average(today[mine], weights=homes.weights[mine]), abs=0.05
        )
    counted = compare_counts(homes, [2], 1.0, plan_for=lambda _k, _told: plan)[0]
    assert counted.against == TODAY
    assert counted.reference["largest_distance"] == pytest.approx(1000 * today.max())


def test_no_new_facility_is_a_plan(city, stores) -> None:
    plan = make_plan(city, 0, fixed_lonlat=stores[0], fixed_names=stores[1])
    assert (plan.k, len(plan), plan.is_today) == (0, 1, True)
    today = trips(city, city.lonlat_to_xy(stores[0]))
    assert plan.evaluation(0).largest_distance == pytest.approx(today.max())
    story = tell_plan(plan, 0, standard=2000.0)
    within = 100 * city.weights[today <= 2000].sum() / city.weights.sum()
    assert story.text == (
        f"Today the average trip is {np.average(today, weights=city.weights) / 1000:.1f} km and the farthest resident "
        f"is {today.max() / 1000:.1f} km away; {within:.1f} % of residents are within 2 km."
    )
    assert story.context == "6 existing facilities for 955,113 residents, as things stand today."
    assert plan.numbers.tolist() == [1, 2, 3, 4, 5, 6]
    back = restore_plan(read_plan_file(plan_json(plan, 0)), city).plan
    assert tell_plan(back, 0, standard=2000.0) == story
    for what in export.TABLES:
        assert len(export.table(plan, 0, what)) == (205 if what == "allocations" else 6)
    look = figures.Look()
    assert "<svg" in figures.html_report(plan, 0, story, look, title="Today")
    figures.plan_map(
        plan, 0, plan.evaluation(0), plan.reference_evaluation(), figures.MapGround.of(city), look
    )
    figures.tradeoff(plan, 0, look)
    assert plan.knee() == plan.within_budget(10) == 0
    with pytest.raises(ValueError, match="whole number from 1 upwards"):
        make_plan(city, 0)


def test_closing_a_facility_is_a_plan(city, stores) -> None:
    plan = make_plan(city, 0, fixed_lonlat=stores[0], fixed_names=stores[1], closed=[2])
    left = np.delete(stores[0], 2, axis=0)
    today, after = (trips(city, city.lonlat_to_xy(sites)) for sites in (stores[0], left))
    np.testing.assert_allclose(plan.change(0), today - after, atol=1e-6)
    assert (plan.change(0) < 1).all(), "nobody gains"
    assert plan.numbers.tolist() == [1, 2, 4, 5, 6]
    assert plan.names == [name for name in stores[1] if name != "Store 3"]
    story = tell_plan(plan, 0)
    assert "travel farther than today" in story.headline_text
    assert story.context.startswith(
        "5 existing facilities (1 closed) for 955,113 residents, compared with today."
    )
    deck = figures.plan_map(
        plan, 0, plan.evaluation(0), plan.reference_evaluation(), figures.MapGround.of(city), figures.Look()
    )
    layers = {layer["id"]: layer for layer in json.loads(deck.to_json())["layers"]}
    assert [row["tip"] for row in layers["baseline"]["data"]] == [
        "Existing facility 3, closed in this plan\nStore 3"
    ]
    with pytest.raises(ValueError, match="closes every facility and opens none"):
        make_plan(city, 0, fixed_lonlat=stores[0][:1], closed=[0])
    with pytest.raises(ValueError, match=r"Facility 6 .* cannot be closed: there are 6 existing"):
        make_plan(city, 1, fixed_lonlat=stores[0], closed=[6])


def test_an_existing_facility_keeps_its_number_and_name_whatever_is_opened_or_closed(city, stores) -> None:
    for k, closed in ((1, []), (3, []), (2, [0, 4])):
        plan = make_plan(city, k, t=[0, 1], fixed_lonlat=stores[0], fixed_names=stores[1], closed=closed)
        for what in ("facilities", "areas"):
            frame = export.table(plan, 1, what)
            old = frame[frame["kind"] == "existing"]
            assert dict(zip(old["facility"], old["name"], strict=True)) == {
                number: f"Store {number}" for number in range(1, 7) if number - 1 not in closed
            }
            assert frame["facility"][frame["kind"] == "new"].tolist() == list(range(7, 7 + k))
        for j, number in enumerate(plan.numbers):
            assert plan.title(j) == (
                f"New facility {number}" if j < k else f"Existing facility {number}, Store {number}"
            )
        deck = figures.plan_map(
            plan,
            1,
            plan.evaluation(1),
            plan.reference_evaluation(),
            figures.MapGround.of(city),
            figures.Look(),
        )
        layers = {
            layer["id"]: layer["data"] for layer in json.loads(deck.to_json())["layers"] if "data" in layer
        }
        assert [row["s"] for row in layers["existing"]] == [
            str(n) for n in range(1, 7) if n - 1 not in closed
        ]


def test_a_plan_file_keeps_reference_and_closures(city, plan, stores) -> None:
    shut = make_plan(city, 2, t=[0, 1, np.inf], fixed_lonlat=stores[0], fixed_names=stores[1], closed=[1, 3])
    for one in (
        plan.against(AVERAGE),
        plan,
        shut,
        shut.against(saved_reference(read_plan_file(plan_json(plan, 1)), "B")),
    ):
        content = plan_json(one, 2)
        back = restore_plan(read_plan_file(content), city)
        assert back.plan.reference == one.reference
        assert back.plan.closed == one.closed
        assert back.plan.t[back.i] == one.t[2]
        assert plan_json(back.plan, back.i) == content
    elsewhere = Residents.from_lonlat(city.lonlat[:150], city.weights[:150])
    anew = restore_plan(read_plan_file(plan_json(shut.against(AVERAGE), 2)), elsewhere).plan
    assert (anew.closed, anew.reference.kind, anew.t[-1]) == ((1, 3), "average", np.inf)


def test_a_file_of_the_first_format_still_opens(city, plan) -> None:
    document = json.loads(plan_json(plan.against(AVERAGE), 1))
    document["format_version"] = 1
    del (
        document["settings"]["closed"],
        document["settings"]["compared_with"],
        document["figures_in_metres"]["compared_with"],
    )
    back = restore_plan(read_plan_file(json.dumps(document).encode()), city)
    assert back.plan.reference == TODAY
    np.testing.assert_array_equal(back.plan.path.centers, plan.path.centers)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"closed": [9]}, "closed that does not exist"),
        ({"closed": [1, 1]}, "do not follow one another"),
        ({"closed": "1"}, "closed that does not exist"),
        ({"compared_with": {"kind": "tomorrow"}}, "is unknown"),
        ({"compared_with": {"kind": "saved", "title": "", "lonlat": [[900, 0]]}}, "not on earth"),
        ({"compared_with": {"kind": "saved", "title": "", "lonlat": []}}, "nothing to compare with"),
        ({"t": "infinite"}, "not a number"),
    ],
)
def test_a_damaged_file_gets_a_sentence(plan, change, sentence) -> None:
    document = json.loads(plan_json(plan, 1))
    document["settings"].update(change)
    with pytest.raises(PlanFileError, match=sentence):
        read_plan_file(json.dumps(document).encode())


def test_a_file_with_closures_that_do_not_fit_its_sites_is_refused(city, plan) -> None:
    document = json.loads(plan_json(plan, 1))
    document["settings"]["closed"] = [0]
    with pytest.raises(PlanFileError, match="number of facilities does not fit"):
        read_plan_file(json.dumps(document).encode())


def test_today_needs_something_that_exists(city) -> None:
    with pytest.raises(ValueError, match="No facility exists today"):
        make_plan(city, 1, t=[0]).against(TODAY)
    with pytest.raises(ValueError, match="not with 'tomorrow'"):
        Reference("tomorrow")


def test_a_saved_plan_keeps_its_limits_through_a_file(city, stores) -> None:
    limited = make_plan(city, 2, t=[0, 1], fixed_lonlat=stores[0], capacity=float(city.weights.sum()) / 3)
    kept = limited.as_reference(1, "Limited")
    free = make_plan(city, 2, t=[0, 1], fixed_lonlat=stores[0]).against(kept)
    own = limited.evaluation(1)
    for key in ("mean_distance", "largest_distance", "gini"):
        assert getattr(free.reference_evaluation(), key) == pytest.approx(getattr(own, key), rel=1e-6)
    again = restore_plan(read_plan_file(plan_json(free, 1)), city).plan
    assert again.reference == kept
    assert saved_reference(read_plan_file(plan_json(limited, 1)), "Limited").room is not None
    assert again.reference_evaluation().mean_distance == pytest.approx(own.mean_distance, rel=1e-6)
