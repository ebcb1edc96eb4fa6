import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tkm_core.evaluation import evaluate
from tkm_core.measures import KEY, MEASURES, shown_in
from tkm_core.planning import make_plan
from tkm_core.residents.samples import load_sample
from tkm_core.stories.plan_story import tell, tell_plan
from tkm_core.units import METRES
from tkm_core.wording import singular


def on_a_line(places, sites):
    """Residents and facilities on a straight road, in metres."""
    return [np.column_stack([np.asarray(p, dtype=float), np.zeros(len(p))]) for p in (places, sites)]


def told(places, plan, baseline, weights=None, standard=None, **words):
    points, after = on_a_line(places, plan)
    _, before = on_a_line(places, baseline)
    weights = np.ones(len(points)) if weights is None else np.asarray(weights, dtype=float)
    sides = [evaluate(points, sites, sample_weight=weights, standard=standard) for sites in (after, before)]
    return tell(*sides, weights, context="A plan.", standard=standard, **words)


def test_nothing_changes():
    story = told([0, 4000, 9000], [1000, 9000], [1000, 9000], people="homes")
    assert story.text == "Nothing changes: all homes travel as far as in the lowest-average plan."
    assert all(row.tone == "same" and row.change_text == "=" for row in (*story.rows, *story.more))
    assert story.losers == story.gainers == 0


def test_changes_too_small_to_show_are_no_change():
    story = told([0, 4000, 9000], [1000.01, 9000], [1000, 9000], people="homes")
    assert story.text == "Nothing changes: all homes travel as far as in the lowest-average plan."
    story = told([0, 4000, 9000], [990, 9000], [1000, 9000], people="homes")  # only the variance shows it
    assert story.text == (
        "Nothing changes noticeably: all homes travel about as far as in the lowest-average plan. "
        "Also worse: the distances are more unequal."
    )


def test_one_gains_three_pay():
    # homes at 0, 0, 0 and 12 km; the site moves from 0 to 3 km
    story = told([0, 0, 0, 12_000], [3000], [0], people="homes")
    assert story.headline_text == (
        "The farthest home comes 3.0 km closer; the average trip gets 1.5 km longer, "
        "and 75 % of homes travel farther than in the lowest-average plan."
    )
    assert story.detail_text.startswith("Those who travel farther lose 3.0 km. 25 % of homes gain 3.0 km.")
    assert [part.tone for part in story.headline if part.tone] == ["better", "worse", "worse"]
    assert (story.losers, story.gainers) == (3, 1)


def test_the_case_of_the_mock_names_everyone_who_pays():
    # The farthest gains, but the 95th percentile and the share within the standard get worse.
    places = [*range(0, 9500, 100), 12_000, 13_000, 14_000, 14_500, 40_000]
    story = told(places, [12_500], [4000], standard=10_000, people="homes")
    tones = {row.key: row.tone for row in story.rows}
    assert tones["largest_distance"] == "better"
    assert tones["mean_distance"] == tones["p95_distance"] == tones["share_within"] == "worse"
    assert "Also worse: the distance within which 95 % live is" in story.detail_text
    assert "the share of homes within 10 km is" in story.detail_text


def test_everything_worse_is_said_plainly():
    story = told([0, 0, 1000, 8000], [9000], [1000], standard=5000, people="homes")
    assert story.headline_text.startswith(
        "The farthest home ends up 2.0 km farther away; the average trip gets"
    )
    assert "and 75 % of homes travel farther than in the lowest-average plan." in story.headline_text
    assert "the share of homes within 5 km is 50.0 points lower" in story.detail_text
    worse = told([0, 0], [9000], [1000], people="homes")
    assert worse.detail_text.endswith("None of these figures is better than in the lowest-average plan.")


def test_everything_better_says_that_nobody_pays():
    story = told([0, 0, 8000], [0, 8000], [1000, 8000], people="homes")
    assert story.headline_text == (
        "The farthest home comes 1.00 km closer; the average trip gets 670 m shorter, "
        "and no home travels farther than in the lowest-average plan."
    )
    assert story.detail_text == "67 % of homes gain 1.00 km."
    assert all(part.tone != "worse" for part in (*story.headline, *story.detail))


def test_nobody_else_changes_but_farthest_stays():
    story = told([0, 2000, 10_000], [1000, 8000], [500, 8000], people="homes")
    assert story.headline_text == (
        "The farthest home stays at 2.0 km; the average trip stays at 1.3 km, "
        "and 33 % of homes travel farther than in the lowest-average plan."
    )
    assert story.detail_text.startswith("Those who travel farther lose 0.5 km. 33 % of homes gain 0.5 km.")


def test_a_single_loser_in_a_crowd():
    places = [0] * 299 + [5000, 90_000]
    story = told(places, [0, 90_000], [0, 5000, 90_000], people="homes")
    assert ", and 1 home travels farther than in the lowest-average plan." in story.headline_text
    story = told(places, [0, 90_000], [0, 5000, 90_000], weights=[1] * 299 + [2, 1], people="homes")
    assert ", and 2 homes travel farther than in the lowest-average plan." in story.headline_text
    story = told(places, [0, 90_000], [0, 5000, 90_000], weights=[1] * 299 + [0.4, 1], people="homes")
    assert ", and under 1 % of homes travel farther than in the lowest-average plan." in story.headline_text


def test_nearly_everybody_is_not_everybody():
    places = [0] * 299 + [5000]
    story = told(places, [5000], [0], people="people")
    assert ", and over 99 % of people travel farther than in the lowest-average plan." in story.headline_text
    story = told([0, 0, 0], [5000], [0], people="people")
    assert ", and every person travels farther than in the lowest-average plan." in story.headline_text


def test_residents_who_are_nobody_do_not_pay():
    story = told([0, 0, 5000], [0], [0, 5000], weights=[1, 1, 0], people="homes")
    assert story.losers == 0
    assert story.text.startswith("Nothing changes")


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ([4000], "The only resident comes 4.0 km closer; the average trip gets 4.0 km shorter."),
        ([12_000], "The only resident ends up 4.0 km farther away; the average trip gets 4.0 km longer."),
        ([8000], "Nothing changes: the only resident travels as far as in the lowest-average plan."),
    ],
)
def test_one_resident(plan, sentence):
    assert told([0], plan, [8000]).headline_text == sentence


def test_one_place_with_many_people_is_not_one_resident():
    story = told([0], [4000], [8000], weights=[500])
    assert story.headline_text.startswith("The farthest resident comes 4.0 km closer")
    assert story.headline_text.endswith("and no resident travels farther than in the lowest-average plan.")


def test_miles():
    mile = 1609.344
    story = told([0, 0, 0, 8 * mile], [2 * mile], [0], unit="mi", standard=mile, people="homes")
    assert story.headline_text.startswith("The farthest home comes 2.0 miles closer")
    assert {
        "Farthest home, mi",
        "Average distance, mi",
        "95 % live within, mi",
        "How unequal (variance of the distance), mi²",
        "Homes within 1 mi, %",
    } <= {row.label for row in story.rows}
    assert story.rows[0].reference == 8.0
    far = told([0, 500 * mile, 500 * mile], [251 * mile], [250 * mile], unit="mi")
    assert far.headline_text.startswith("The farthest resident stays at about 251 miles; ")
    far = told([0, 20 * mile], [11 * mile], [10 * mile], unit="mi")
    assert "ends up 1.0 miles farther away" in far.headline_text


def test_small_distances_are_in_metres_and_small_changes_are_about_the_same():
    near = told([0, 0, 0, 1680], [840], [830], people="homes")
    assert near.headline_text.startswith(
        "The farthest home stays at about 840 m; the average trip stays at about 840 m"
    )
    hamlet = told([0, 100], [50], [30], people="homes")
    assert hamlet.headline_text.startswith(
        "The farthest home comes 20 m closer; the average trip stays at 50 m"
    )


def test_nobody_travels_farther_is_said_only_where_it_is_news_and_true():
    story = told([0, 2000, 9000], [0, 2030, 9000], [0, 4000, 9000], people="homes")
    assert story.headline_text.endswith("and no home travels farther than in the lowest-average plan.")
    few = [0] * 9 + [30_000]
    story = told([*few, 12_000], [30, 30_000], [0, 33_000], people="homes")
    assert story.headline_text.endswith(
        "and no home travels more than 50 m farther than in the lowest-average plan."
    )
    story = told([0, 2000, 9000], [0, 2030, 9000], [0, 4000, 9000], people="homes", only_adds=True)
    assert "travels" not in story.headline_text


def test_unknown_unit_gets_a_sentence():
    with pytest.raises(ValueError, match="km, mi or min, not in 'furlong'"):
        told([0], [0], [0], unit="furlong")


@pytest.mark.parametrize(
    ("mean", "text"),
    [(300_000, "300"), (30_000, "30.0"), (3000, "3.0"), (300, "0.30"), (30, "0.030"), (0.3, "0.000")],
)
def test_digits_follow_the_size_of_the_city(mean, text):
    assert told([0, 0], [mean], [mean * 1.2]).rows[1].plan_text == text


def test_large_numbers_are_grouped():
    assert told([0], [2_500_000], [1_500_000]).rows[0].plan_text == "2,500"


@pytest.mark.parametrize(
    ("many", "one"),
    [("homes", "home"), ("residents", "resident"), ("people", "person"), ("families", "family"),
     ("addresses", "address"), ("school children", "school child"), ("boxes", "box"), ("staff", "staff"),
     ("grass", "grass"), ("", "")],
)  # fmt: skip
def test_singular(many, one):
    assert singular(many) == one


places = st.lists(st.integers(0, 60_000), min_size=1, max_size=25)
sites = st.lists(st.integers(0, 60_000), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(places, sites, sites, st.sampled_from(["km", "mi"]), st.sampled_from([None, 2500.0, 10_000.0]))
@example([0, 0, 0, 12_000], [3000], [0], "km", None)
def test_who_pays_is_never_hidden(homes, plan, baseline, unit, standard):
    story = told(homes, plan, baseline, unit=unit, standard=standard, people="homes")
    decimals = story.rows[0].decimals
    step = 0.5 * 10.0**-decimals
    before, after = (
        [min(abs(home - site) for site in where) / METRES[unit] for home in homes]
        for where in (baseline, plan)
    )
    lost = [a - b for a, b in zip(after, before, strict=True)]
    worse = [part.text for part in (*story.headline, *story.detail) if part.tone == "worse"]
    if any(loss > step * 1.001 for loss in lost):
        if len(homes) > 1:
            assert any("travel" in text and "farther" in text for text in worse)
            assert "farther" in story.headline_text
        else:
            assert worse
    if all(loss < step * 0.999 for loss in lost):
        assert not any("travel" in text and "no home" not in text for text in worse)
    for row in story.rows:
        if row.tone == "worse":
            assert worse, row
    named = {
        "p95_distance": "within which 95 % live",
        "share_within": "points lower",
        "overall_variance_of_distance": "more unequal",
    }
    for row in story.rows[2:]:
        assert (row.tone == "worse") == (
            named.get(row.key, MEASURES[row.key].worse.partition(" {")[0]) in story.detail_text
        )
    assert story.text == story.text.strip()
    assert "  " not in story.text
    assert ".." not in story.text
    assert story.text.endswith(".")


@settings(max_examples=200, deadline=None)
@given(places, sites, sites, st.sampled_from(["km", "mi"]))
def test_table_adds_up(homes, plan, baseline, unit):
    story = told(homes, plan, baseline, unit=unit, standard=8000.0)
    assert [row.key for row in story.rows] == list(shown_in(KEY))
    for row in (*story.rows, *story.more):
        shown = [float(text.replace(",", "")) for text in (row.plan_text, row.reference_text, row.size_text)]
        assert abs(shown[0] - shown[1]) == pytest.approx(shown[2], abs=1e-9)
        assert row.arrow == ("=" if shown[0] == shown[1] else "▲" if shown[0] > shown[1] else "▼")
        gain = shown[0] - shown[1] if row.key == "share_within" else shown[1] - shown[0]
        assert row.tone == ("same" if gain == 0 else "better" if gain > 0 else "worse")
        assert "-" not in row.plan_text


def test_rows_are_the_measures_in_the_unit():
    story = told([0, 3000, 9000], [1000], [4000], standard=2000.0, people="homes")
    rows = {row.key: row for row in (*story.rows, *story.more)}
    trips = np.array([1.0, 2.0, 8.0])
    assert rows["mean_distance"].plan == pytest.approx(trips.mean(), abs=0.05)
    assert rows["largest_distance"].plan == 8.0
    assert rows["overall_variance_of_distance"].plan == pytest.approx(trips.var(), abs=0.05)
    assert rows["overall_variance"].plan == pytest.approx((trips**2).var(), abs=0.5)
    assert rows["sse"].plan == pytest.approx((trips**2).mean(), abs=0.05)
    assert rows["share_within"].plan == 66.7
    assert rows["overall_variance"].label == "How unequal (variance of the squared distance), km⁴"
    assert rows["share_within"].label == "Homes within 2 km, %"


def test_no_standard_no_row():
    assert "share_within" not in {row.key for row in told([0, 1], [0], [1]).rows}


@pytest.mark.parametrize(("k", "words"), [(1, "1 facility for 400 homes"), (3, "3 facilities for 400 homes")])
def test_context_of_a_plan(k, words):
    plan = make_plan(load_sample("generated", n=400), k, t=[0, 0.3])
    story = tell_plan(plan, 1, people="homes")
    assert story.context == (
        f"{words}, compared with the lowest-average plan (k-means++). The fairness dial is at t = 0.3."
    )
    one = make_plan(load_sample("generated", n=1), 1, t=[0])
    assert (
        tell_plan(one, 0).context == "1 facility for 1 resident, compared with "
        "the lowest-average plan (k-means++). The fairness dial is at t = 0."
    )


def test_plan_equal_to_kmeans_says_so():
    plan = make_plan(load_sample("generated", n=400), 1, t=[0])
    assert (
        tell_plan(plan, 0).text
        == "Nothing changes: all residents travel as far as in the lowest-average plan."
    )
