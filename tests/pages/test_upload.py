"""Questions about an upload are answered by a click, in a planner's words."""

import io
import json
import zipfile

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Opened, text, turn_to, upload

SWISS = (
    "Ort;E;N\n" + "".join(f"p{i};{2600000 + 90 * i};{1200000 + 70 * (i % 9)}\n" for i in range(60))
).encode()
HOMES = b"lon,lat,households\n" + b"".join(
    f"{13 + i / 99:.4f},52.{i + 10},{i + 1}\n".encode() for i in range(30)
)


def test_likely_reference_systems_are_one_click_away(opened: Opened) -> None:
    app = upload(opened, "orte.csv", SWISS)
    assert "does not say which reference system" in app.error[0].value and "crs=" not in app.error[0].value
    assert "Existing facilities" not in [header.value for header in app.header], "one thing at a time"
    app.button(key="fix_crs_EPSG:2056").click().run()
    assert "60 rows read, 60 kept" in app.success[0].value
    assert app.selectbox(key="fix_crs").value == "EPSG:2056"


def test_columns_that_may_count_people_are_offered(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    assert "How many people does each row stand for?" in text(app)
    assert app.button(key="use_upload").disabled, "nothing is counted that was not asked for"
    app.button(key="fix_weight_households").click().run()
    assert "465 residents in 30 places" in text(app) and not app.button(key="use_upload").disabled
    assert "How many people" not in text(app)


def test_no_is_an_answer(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    app.button(key="fix_weight_none").click().run()
    assert "30 residents, each counted once" in text(app) and "How many people" not in text(app)


def test_one_file_of_an_archive_is_chosen_by_a_click(opened: Opened) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("homes.csv", HOMES)
        archive.writestr("orte.csv", SWISS)
    app = upload(opened, "both.zip", packed.getvalue())
    assert "holds 2 files" in app.error[0].value and "layer=" not in app.error[0].value
    app.button(key="fix_layer_homes.csv").click().run()
    assert "30 rows read, 30 kept" in app.success[0].value


def test_the_data_get_the_name_they_are_given(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    assert app.text_input(key="title").value == "homes.csv"
    app.file_uploader(key="upload").upload("other.csv", HOMES, "text/csv").run()
    assert app.text_input(key="title").value == "other.csv", "another file, another name"
    app.button(key="fix_weight_none").click().run()
    app.text_input(key="title").set_value("Homes <b>2026</b>").run()
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    assert app.selectbox(key="dataset").format_func("upload") == "Homes b 2026 b"


def test_after_a_file_that_will_not_do_the_next_is_read(opened: Opened) -> None:
    app = opened("data")
    given = [("empty.csv", b"", "text/csv"), ("homes_*.csv", HOMES, "text/csv")]
    app.file_uploader(key="upload").set_value(given).run()
    assert not app.exception and not app.error
    assert "30 rows read, 30 kept" in app.success[0].value
    assert "Only the last, homes\\_\\*.csv, is read" in text(app)


def test_as_many_facilities_as_different_places(opened: Opened) -> None:
    app = upload(opened, "two.csv", b"lon,lat\n13.4,52.5\n13.4,52.5\n")
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    assert not app.exception and not app.error
    assert app.number_input(key="k").value == 1


def test_answers_are_changed_without_a_new_upload(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    app.button(key="fix_weight_none").click().run()
    app.text_input(key="title").set_value("Homes of 2026").run()
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    token = app.query_params["upload"]
    turn_to(app, "data")
    app.button(key="change_upload").click().run()
    assert app.selectbox(key="fix_weight").value.startswith("none"), "as it was answered"
    assert app.text_input(key="title").value == "Homes of 2026"
    app.selectbox(key="fix_weight").set_value("households").run()
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    assert app.query_params["upload"] == token, "the link shows the data as they are read now"
    assert "465 residents in 30 places" in text(app)
    guest = opened("data", dataset="upload", upload=token)
    assert "465 residents in 30 places" in text(guest)
    keys = {button.key for button in guest.button}
    assert not keys & {"change_upload", "forget"}, "who has the link may look, not change"


def test_leaving_the_answers_as_they_were(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    app.button(key="fix_weight_households").click().run()
    app.button(key="use_upload").click().run()
    turn_to(app, "data")
    app.button(key="change_upload").click().run()
    app.button(key="leave_answers").click().run()
    assert "465 residents in 30 places" in text(app) and app.button(key="change_upload")
    app.button(key="forget").click().run()
    app.button(key="remove_yes").click().run()
    assert "change_upload" not in {button.key for button in app.button}


def rows_with_gaps(gaps: int) -> bytes:
    lines = [f"{13 + i / 999:.4f},52.{i % 50 + 10}" if i >= gaps else "," for i in range(100)]
    return "\n".join(["lon,lat", *lines]).encode()


def test_the_tone_follows_the_share_left_out(opened: Opened) -> None:
    for gaps, tone in ((0, "success"), (1, "success"), (5, "warning"), (25, "error")):
        app = upload(opened, "gaps.csv", rows_with_gaps(gaps))
        told = [block.value for block in app.get(tone)]
        assert any("100 rows read" in one for one in told), (gaps, tone)
    assert "100 rows read, 75 kept, 25 left out (25 %). Check the rows below" in app.error[0].value
    assert "no coordinates" in str(app.table[0].value)


def test_only_text_files_are_asked_about_separators(opened: Opened) -> None:
    def asked(app: AppTest) -> set[str]:
        return {box.key for box in app.selectbox if box.key}

    text_file = upload(opened, "homes.csv", HOMES)
    assert {"fix_delimiter", "fix_decimal", "fix_encoding", "fix_crs"} <= asked(text_file)
    point = '{"type":"Feature","properties":{"name":"P%d"},"geometry":{"type":"Point","coordinates":[13.%d,52.%d]}}'
    features = ",".join(point % (i, i + 10, i * 7 % 50 + 10) for i in range(30))
    mapped = f'{{"type":"FeatureCollection","features":[{features}]}}'.encode()
    map_file = upload(opened, "homes.geojson", mapped)
    assert asked(map_file) & {"fix_delimiter", "fix_decimal", "fix_encoding", "fix_crs"} == {"fix_crs"}
    assert not {"fix_delimiter"} & asked(upload(opened, "broken.geojson", mapped[:200]))


def test_why_a_column_was_taken_is_told_in_full(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    table = app.table[0].value
    assert table["Taken as"].tolist() == ["Longitude or easting", "Latitude or northing", "not used"]
    assert "its values fit degrees" in table["Why"][0]


def test_a_part_of_a_file_and_an_official_number(opened: Opened) -> None:
    app = upload(opened, "homes.csv", HOMES)
    app.button(key="fix_weight_households").click().run()
    box = {"type": "Polygon", "coordinates": [[[12, 52], [13.1, 52], [13.1, 53], [12, 53], [12, 52]]]}
    app.file_uploader(key="fix_within").upload("area.geojson", json.dumps(box).encode(), "").run()
    assert not app.exception
    inside = [i for i in range(30) if round(13 + i / 99, 4) <= 13.1]
    assert f"{sum(i + 1 for i in inside)} residents in {len(inside)} places" in text(app)
    app.number_input(key="fix_total").set_value(1100.0).run()
    assert f"1,100 residents in {len(inside)} places" in text(app)
