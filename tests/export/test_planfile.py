import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tkm_core import export
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan
from tkm_core.planning import make_plan
from tkm_core.residents.samples import load_sample
from tkm_core.stories.plan_story import tell_plan
from tkm_core.version import VERSION


@pytest.fixture(scope="module")
def city():
    return load_sample("generated", n=400, seed=2)


@pytest.fixture(scope="module")
def plan(city):
    return make_plan(
        city, 3, t=[0, 0.1, 0.3, 1], fixed_lonlat=[[-27.0, 45.0]], random_state=5, criterion="city"
    )


@pytest.fixture(scope="module")
def content(plan):
    return plan_json(plan, 2)


def test_same_data_give_the_same_plan(plan, city, content, tmp_path):
    path = export.write_plan_file(plan, 2, tmp_path / "plan.json")
    assert path.read_bytes() == content
    for source in (path, str(path), content, io.BytesIO(content)):
        back = restore_plan(read_plan_file(source), city)
        assert back.same_data
        assert back.message == "These are the data the plan was made with: it is the same plan."
        assert back.i == 2
        np.testing.assert_array_equal(back.plan.path.centers, plan.path.centers)
        np.testing.assert_array_equal(back.plan.path.arrangement, plan.path.arrangement)
        np.testing.assert_array_equal(back.plan.baseline, plan.baseline)
        assert tell_plan(back.plan, 2) == tell_plan(plan, 2)
        assert (back.plan.k, back.plan.n_existing, back.plan.random_state, back.plan.criterion) == (
            3,
            1,
            5,
            "city",
        )
    assert plan_json(back.plan, back.i) == content


def test_making_it_anew_gives_the_same_plan(plan, city, content):
    saved = read_plan_file(content)
    again = make_plan(
        city,
        saved.k,
        t=saved.path.t,
        fixed_lonlat=[[-27.0, 45.0]],
        random_state=saved.random_state,
        criterion="city",
    )
    np.testing.assert_array_equal(again.path.centers, plan.path.centers)


def test_other_data_are_noticed_and_planned_anew(plan, content):
    other = load_sample("generated", n=399, seed=2)
    back = restore_plan(read_plan_file(content), other)
    assert not back.same_data
    assert "The data differ" in back.message
    assert "400 points and 400 people then" in back.message
    assert "399 points and 399 people now" in back.message
    assert back.plan.residents is other
    assert back.plan.t.tolist() == plan.t.tolist()
    np.testing.assert_allclose(back.plan.centers_lonlat(0)[3], [-27.0, 45.0], atol=1e-9)
    assert back.plan.t[back.i] == 0.3


def test_a_changed_weight_is_other_data(city, content):
    weights = city.weights.copy()
    weights[7] = 2
    changed = type(city).from_lonlat(city.lonlat, weights)
    assert not restore_plan(read_plan_file(content), changed).same_data


def test_another_version_is_said(city, content):
    document = json.loads(content)
    document["version"] = "0.0.9"
    message = restore_plan(read_plan_file(json.dumps(document).encode()), city).message
    assert f"saved by version 0.0.9; this is version {VERSION}" in message


def test_file_holds_settings_seed_version_fingerprint_and_results(plan, city, content):
    document = json.loads(content)
    assert document["version"] == VERSION
    assert document["data"]["fingerprint"] == city.fingerprint
    assert document["settings"] == {
        "k": 3, "t": 0.3, "criterion": "city", "random_state": 5,
        "fixed_lonlat": plan.baseline_lonlat[3:].tolist(), "fixed_names": [], "pinned": 0,
        "closed": [], "compared_with": {"kind": "today", "title": "", "lonlat": []},
    }  # fmt: skip
    figures = document["figures_in_metres"]
    assert figures["plan"]["largest_distance"] == plan.evaluation(2).largest_distance
    assert figures["kmeans++"]["mean_distance"] == plan.baseline_evaluation().mean_distance


def test_moved_sites_are_noticed(city, content):
    document = json.loads(content)
    document["path"]["centers"][2][0][0] += 0.5
    with pytest.raises(PlanFileError, match="changed after it was saved"):
        restore_plan(read_plan_file(json.dumps(document).encode()), city)


def broken(change):
    def apply(content):
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return apply


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda c: b"", "not JSON"),
        (lambda c: b"\xff\xfe\x00", "not JSON"),
        (lambda c: c[: len(c) // 2], "not JSON"),
        (lambda c: b"[" * 100_000, "not JSON"),
        (lambda c: b"[]", "not a plan file"),
        (lambda c: b'{"type": "FeatureCollection"}', "not a plan file"),
        (lambda c: c.replace(b'"k":3', b'"k":NaN'), "not JSON"),
        (broken(lambda d: d.update(format_version=99)), "format 99, which this version cannot read"),
        (broken(lambda d: d["settings"].update(k=4)), "damaged: the number of facilities"),
        (broken(lambda d: d["settings"].update(k=-1)), "damaged: k is not a whole number"),
        (broken(lambda d: d["settings"].update(k="3")), "damaged: k is not"),
        (broken(lambda d: d["settings"].update(criterion="x")), "damaged: the criterion"),
        (broken(lambda d: d.pop("path")), "damaged: 'path'"),
        (broken(lambda d: d.update(path=[])), "damaged"),
        (broken(lambda d: d["path"].update(t=[0, 0, 0, 0])), "damaged: the settings of the dial"),
        (broken(lambda d: d["path"].update(sse=[0])), "damaged: the settings of the dial"),
        (broken(lambda d: d["path"]["centers"][0].pop()), "damaged"),
        (broken(lambda d: d.update(baseline=[[1e999, 0]] * 4)), "not JSON"),
        (broken(lambda d: d.update(baseline="x")), "damaged"),
        (broken(lambda d: d.update(settings=None)), "damaged"),
        (broken(lambda d: d["settings"].update(t="nan")), "damaged: t is not a number"),
        (broken(lambda d: d["settings"].update(t=True)), "damaged: t is not a number"),
        (broken(lambda d: d["settings"].update(t=-1)), "damaged: t is not a number"),
        (broken(lambda d: d["settings"].update(criterion=["city"])), "damaged: the criterion"),
        (broken(lambda d: d["settings"].update(fixed_names="N")), "damaged: the names"),
        (broken(lambda d: d["settings"].update(fixed_names=[{}])), "damaged: fixed_names is not text"),
        (broken(lambda d: d["settings"].update(fixed_lonlat=[[1e308, 0]])), "not a place on earth"),
        (broken(lambda d: d["data"].update(people="1e5")), "damaged: people is not a number"),
        (broken(lambda d: d["data"].update(name=["x"])), "damaged: name is not text"),
        (broken(lambda d: d.update(version={})), "damaged: version is not text"),
        (broken(lambda d: d["path"].update(t=[0, 0.1, 0.3, 1e300])), "damaged: the dial goes beyond"),
        (broken(lambda d: d["path"].update(arrangement=[0, 5, 1e300, 2])), "damaged: the arrangements"),
        (broken(lambda d: d["path"].update(sse=[[0.0] * 9] * 4)), "damaged: the figures do not fit"),
        (broken(lambda d: d.update(baseline=[[]] * 4)), "damaged"),
        (lambda c: c.replace(b'"people":', b'"people":' + b"1" * 5000 + b',"x":'), "not JSON"),
        (lambda c: c.replace(b'"people":', b'"people":1e999,"x":'), "damaged: people is not a number"),
        (lambda c: c.replace(b'"baseline":', b'"baseline":' + b"[" * 900 + b"]" * 900 + b',"x":'), "damaged"),
    ],
)
def test_damaged_files_get_a_sentence(content, damage, sentence):
    with pytest.raises(PlanFileError, match=sentence):
        read_plan_file(damage(content))


@pytest.mark.parametrize(
    ("new", "existing", "steps", "sentence"),
    [
        (1_001, 0, 1, "1,001 new and 0 existing facilities"),
        (1, 201, 1, "201 existing facilities"),
        (1, 0, 201, "201 settings of the dial"),
    ],
)
def test_a_plan_file_has_no_more_than_a_plan_may_have(content, new, existing, steps, sentence):
    document = json.loads(content)
    sites = [[0.0, 0.0]] * (new + existing)
    document["settings"] |= {"k": new, "fixed_lonlat": [[0.0, 0.0]] * existing}
    document["path"] = {name: [0.0] * steps for name in document["path"]}
    document["path"] |= {"t": list(range(steps)), "centers": [sites] * steps}
    document["baseline"] = sites
    with pytest.raises(PlanFileError, match=sentence):
        read_plan_file(json.dumps(document).encode())


def test_the_largest_plan_fits_into_a_plan_file(city):
    from tkm_core.export.planfile_reading import LARGEST, MOST_STEPS
    from tkm_core.export.planfile_values import MOST_NEW
    from tkm_core.residents.existing import MOST

    numbers = np.random.default_rng(0).normal(size=(MOST_STEPS, MOST_NEW + MOST, 2))
    assert len(json.dumps(numbers.tolist(), separators=(",", ":"))) < LARGEST


def moved(document):
    document["path"]["centers"][3][0][0] += 0.01


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["path"]["tilted_sse"].__setitem__(1, 0.001), "do not give its figures"),
        (lambda d: d["path"]["sse"].__setitem__(0, 9.0), "do not give its figures"),
        (lambda d: d["path"]["city_cost"].__setitem__(3, 1e308), "do not give its figures"),
        (moved, "do not give its figures"),
        (lambda d: d["path"]["centers"][0].__setitem__(1, [60.0, 0.0]), "far outside"),
        (lambda d: d["path"]["centers"][0].__setitem__(1, [1e308, -1e308]), "far outside"),
        (lambda d: d["baseline"].__setitem__(2, [0.0, -60.0]), "far outside"),
        (lambda d: d["baseline"].__setitem__(3, [0.1, 0.1]), "existing facilities of this plan file are not"),
        (lambda d: d["settings"].update(fixed_lonlat=[[-27.1, 45.0]]), "existing facilities of this plan"),
        (lambda d: d["figures_in_metres"]["plan"].update(mean_distance=1), "do not give its figures"),
    ],
)
def test_no_figure_of_a_file_is_believed(city, content, change, sentence):
    with pytest.raises(PlanFileError, match=sentence):
        restore_plan(read_plan_file(broken(change)(content)), city)


def test_the_error_that_is_left_is_computed_again(plan, city, content):
    changed = broken(lambda d: d["path"].update(error=[7.0] * 4))(content)
    back = restore_plan(read_plan_file(changed), city)
    np.testing.assert_allclose(back.plan.path.error, plan.path.error, atol=1e-6)


def test_a_plan_of_very_many_comes_back():
    city = load_sample("generated", n=70_000)  # so many are descended in chunks, to within a stated error
    plan = make_plan(city, 3, t=[0, 1, 10])
    back = restore_plan(read_plan_file(plan_json(plan, 1)), city)
    np.testing.assert_array_equal(back.plan.path.centers, plan.path.centers)


def test_overflowing_numbers_get_a_sentence(content):
    with pytest.raises(PlanFileError, match="damaged"):
        read_plan_file(content.replace(b'"baseline":[[', b'"baseline":[[1e999,1],['))


def test_missing_and_oversized_files_get_a_sentence(tmp_path, monkeypatch, content):
    with pytest.raises(PlanFileError, match="cannot be read: No such file"):
        read_plan_file(tmp_path / "none.json")
    with pytest.raises(PlanFileError, match="cannot be read"):
        read_plan_file(tmp_path)
    monkeypatch.setattr("tkm_core.export.planfile_reading.LARGEST", 10)
    with pytest.raises(PlanFileError, match="larger than"):
        read_plan_file(content)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_only_our_own_error_comes_out(content, city, data):
    kind = data.draw(st.sampled_from(["cut", "flip", "bytes", "json"]))
    if kind == "cut":
        damaged = content[: data.draw(st.integers(0, len(content) - 1))]
    elif kind == "flip":
        at = data.draw(st.integers(0, len(content) - 1))
        damaged = content[:at] + bytes([data.draw(st.integers(0, 255))]) + content[at + 1 :]
    elif kind == "bytes":
        damaged = data.draw(st.binary(max_size=200))
    else:
        document = json.loads(content)
        part = data.draw(
            st.sampled_from([document, document["data"], document["settings"], document["path"]])
        )
        anything = st.recursive(
            st.none()
            | st.booleans()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.integers()
            | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
            max_leaves=5,
        )
        part[data.draw(st.sampled_from(sorted(part)))] = data.draw(anything)
        damaged = json.dumps(document).encode()
    try:
        saved = read_plan_file(damaged)
    except PlanFileError as problem:
        assert str(problem).endswith(".")
    else:
        assert saved.path.centers.shape == (len(saved.path.t), saved.k + len(saved.fixed_lonlat), 2)
        if saved.fingerprint == city.fingerprint:
            with contextlib.suppress(PlanFileError):
                restore_plan(saved, city)
