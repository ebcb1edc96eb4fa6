"""Text tables as planners have them: encodings, delimiters, decimal commas, titles, ragged lines, units."""

import gzip

import numpy as np
import pytest

from tkm_core.residents import ResidentsError, load_residents

PLACES = [(13.40, 52.52), (13.45, 52.50), (13.38, 52.55), (13.30, 52.48)]


def table(names: list[str], *, header: str = "name,lat,lon", rows: int = 1) -> str:
    lines = [
        f"{name},{lat},{lon}" for name, (lon, lat) in zip(names * rows, PLACES * 10 * rows, strict=False)
    ]
    return "\n".join([header, *lines]) + "\n"


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("utf-8", ["Köln", "Zürich", "Łódź", "Škofja"]),
        ("utf-8-sig", ["Köln", "Zürich", "Łódź", "Škofja"]),
        ("utf-16", ["Köln", "Zürich", "Łódź", "Škofja"]),
        ("utf-16-le", ["Köln", "Zürich", "Łódź", "Škofja"]),
        ("cp1252", ["Köln", "Zürich", "Besançon", "Málaga", "Würzburg", "Évry – Nord"]),
        ("cp850", ["Köln", "Zürich", "Besançon", "Málaga", "Würzburg", "Weißenfels"]),
        ("cp1250", ["Łódź", "Kraków", "Wrocław", "Poznań", "Częstochowa", "Plzeň"]),
        ("cp1251", ["Москва", "Санкт-Петербург", "Казань", "Нижний Новгород"]),
        ("koi8_r", ["Москва", "Санкт-Петербург", "Казань", "Нижний Новгород"]),
        ("cp1253", ["Αθήνα", "Θεσσαλονίκη", "Πάτρα", "Ηράκλειο"]),
        ("cp949", ["서울특별시 종로구", "부산광역시", "대구광역시", "인천광역시 중구"]),
        ("shift_jis", ["東京都千代田区", "大阪市きたく", "横浜市ニシ", "名古屋市なか"]),
        ("euc_jp", ["東京都千代田区", "大阪市きたく", "横浜市ニシ", "名古屋市なか"]),
        ("gb18030", ["北京市朝阳区", "上海市", "广州市天河区", "深圳市南山区"]),
        ("big5", ["臺北市中正區", "高雄市", "臺中市西屯區", "新北市板橋區"]),
        ("mac_roman", ["Köln", "Zürich", "Besançon", "Málaga", "Würzburg"]),
    ],
)
def test_encodings(encoding, names):
    residents = load_residents(
        table(names, header="district,lat,lon", rows=3).encode(encoding), group="district"
    )
    assert residents.groups.tolist()[: len(names)] == names


def test_encoding_is_judged_on_the_whole_file():
    plain = "".join(f"Berlin,{lat},{lon}\n" for lon, lat in PLACES * 20_000)
    late = (f"district,lat,lon\n{plain}Köln,52.5,13.4\nWürzburg,52.5,13.4\n").encode("cp1252")
    residents = load_residents(late, group="district")
    assert residents.report.encoding == "cp1252"
    assert residents.groups[-2:].tolist() == ["Köln", "Würzburg"]


def test_broken_characters_in_utf8_are_told():
    text = table(["Köln", "Zürich", "Łódź", "Škofja"], rows=10).encode() + b"Br\xfchl,52.5,13.4\n"
    residents = load_residents(text)
    assert residents.report.encoding == "utf-8"
    assert any("not valid UTF-8" in warning for warning in residents.report.warnings)
    assert len(residents) == 41


def test_encoding_can_be_given():
    assert load_residents(table(["Köln"] * 4).encode("cp437"), encoding="cp437").report.encoding == "cp437"
    with pytest.raises(ResidentsError, match="no encoding called “klingon”"):
        load_residents(b"a,b\n1,2\n", encoding="klingon")
    with pytest.raises(ResidentsError, match="not in the encoding utf-8"):
        load_residents(table(["Köln"] * 4).encode("cp1252"), encoding="utf-8")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "^", "~", "#", ":", "\x1f", "¦", "§", " ", "   "])
def test_delimiters(delimiter):
    lines = [["name", "lat", "lon", "population"]]
    lines += [["Mitte", lat, lon, 10 * place] for place, (lon, lat) in enumerate(PLACES * 5, start=1)]
    text = "\n".join(delimiter.join(map(str, line)) for line in lines)
    residents = load_residents(text.encode())
    np.testing.assert_allclose(residents.lonlat, PLACES * 5)
    assert residents.weights[1] == 20


def test_delimiter_can_be_given():
    text = b"name/lat/lon\na, b/52.5/13.4\nc, d/52.6/13.5\n"
    assert len(load_residents(text, delimiter="/")) == 2


def test_decimal_comma_with_longitude_first():
    text = "EVA_NR;NAME;LAENGE;BREITE\r\n1;Köln;6,091499;50,7678\r\n2;Aalen;10,096271;48,841013\r\n"
    residents = load_residents(text.encode("cp850"))
    assert residents.lonlat.tolist() == [[6.091499, 50.7678], [10.096271, 48.841013]]
    assert residents.report.decimal == ","


def test_decimals_are_judged_column_by_column():
    text = "lat;lon;price;population\n48.856;2.352;3,50;1.200\n48.901;2.401;12,75;2.400\n48.9;2.4;1,5;900\n"
    residents = load_residents(text.encode())
    assert residents.lonlat[0].tolist() == [2.352, 48.856]
    assert residents.weights.tolist() == [1200, 2400, 900]


def test_thousands_signs_and_units():
    text = 'lat,lon,population\n+32.46,-086.48,"1,250"\n+32.47,-086.47,16人\n+32.48,-086.46,1 200 people\n'
    residents = load_residents(text.encode())
    assert residents.lonlat[0].tolist() == [-86.48, 32.46]
    assert residents.weights.tolist() == [1250, 16, 1200]


def test_degrees_minutes_seconds():
    text = "lat;lon\n48°51'24\"N;2°21'07\"E\n48°52'00\"N;2°20'00\"W\n"
    lonlat = load_residents(text.encode()).lonlat
    np.testing.assert_allclose(
        lonlat, [[2 + 21 / 60 + 7 / 3600, 48 + 51 / 60 + 24 / 3600], [-2 - 20 / 60, 48 + 52 / 60]]
    )


def test_titles_notes_and_empty_rows_above_and_below():
    above = "Population register of the city\nas of 2024;;;\n\n"
    text = f"{above}name;lat;lon;population\nA;52.5;13.4;3\nB;52.6;13.5;4\n\nSource: city\n"
    residents = load_residents(text.encode())
    assert residents.weights.tolist() == [3, 4]
    assert residents.report.rows_read == 3 and residents.report.dropped[0].code == "missing"


def test_rows_are_numbered_as_in_the_file():
    text = "Register\nname,lat,lon\nA,52.5,13.4\nB,,\nC,52.6,13.5\n"
    report = load_residents(text.encode()).report
    assert report.dropped[0].examples == ((4, "lon “”, lat “”"),)
    assert report.preview.index[0] == 3


def test_ragged_lines_are_mended_and_told():
    text = "name,lat,lon,population\nA,52.5,13.4,3\nSmith, John,52.6,13.5,4\nC,52.7,13.6\nD,52.8,13.7,6,,\n"
    residents = load_residents(text.encode(), weight=False)
    assert sorted(residents.lonlat[:, 1].tolist()) == [52.5, 52.6, 52.7, 52.8]
    assert any("3 lines have more or fewer fields" in note for note in residents.report.notes)


def test_quoted_line_breaks():
    text = 'name,lat,lon\n"two\nlines",52.5,13.4\n"and, comma",52.6,13.5\n' * 1
    assert load_residents(text.encode()).lonlat[:, 1].tolist() == [52.5, 52.6]


def test_duplicate_and_empty_headers():
    residents = load_residents(b"lat,,lat,lon,\n52.5,x,9,13.4,y\n52.6,x,9,13.5,y\n")
    assert [column.name for column in residents.report.columns] == [
        "lat",
        "Column 2",
        "lat (2)",
        "lon",
        "Column 5",
    ]
    assert residents.lonlat[0].tolist() == [13.4, 52.5]


def test_no_header_at_all():
    text = "9.3498486,56.7408757,17.05\n9.3501884,56.7406785,17.61\n9.3505485,56.7405445,18.08\n"
    residents = load_residents(text.encode())
    assert residents.lonlat[0].tolist() == [9.3498486, 56.7408757]
    assert any("no row with column names" in warning for warning in residents.report.warnings)
    swapped = "48.8566123,2.3522198\n48.8606111,2.3376444\n48.8529682,2.3499021\n"
    assert load_residents(swapped.encode()).lonlat[0].tolist() == [2.3522198, 48.8566123]


def test_old_mac_line_ends_and_gzip():
    text = "lat,lon\r52.5,13.4\r52.6,13.5\r"
    assert len(load_residents(gzip.compress(text.encode()), name="old.csv.gz")) == 2


@pytest.mark.parametrize("text", ["", "\n\n", "just one line of prose", "word\n" * 30])
def test_what_is_no_table(text):
    with pytest.raises(ResidentsError):
        load_residents(text.encode())


def test_header_alone():
    with pytest.raises(ResidentsError):
        load_residents(b"lat,lon,population\n")


def test_numbers_of_houses_do_not_make_a_western_file_central_european():
    """º is the letter ş in other code pages; after n and after digits it stands for "number" and "-th"."""
    rows = "".join(f"Rua nº {i}, {i}º andar;{-30 - i / 100};{-51 - i / 100};São João\n" for i in range(40))
    found = load_residents(
        ("endereço;latitude;longitude;bairro\n" + rows).encode("latin-1"), name="casas.csv"
    )
    assert found.report.encoding == "cp1252"
    turkish = "".join(f"Maraş;{37 + i / 100};{36 + i / 100};Beşiktaş, Kadıköy\n" for i in range(40))
    found = load_residents(("ad;latitude;longitude;ilçe\n" + turkish).encode("cp1254"), name="ev.csv")
    assert found.report.encoding == "cp1254"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"lat,lon\n", "headings .* but no rows"),
        ("a.pdf", b"%PDF-1.7\nlat,lon\n1,2\n", "is a PDF document"),
        (
            "a.geojson",
            (
                b'{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},'
                b'"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}]}'
            ),
            "holds 1 line[.]",
        ),
        ("a.shp", b"\x00\x00\x27\x0a" + bytes(200), "damaged or incomplete"),
    ],
)
def test_what_is_no_file_of_residents_is_called_what_it_is(name, content, told):
    with pytest.raises(ResidentsError, match=told):
        load_residents(content, name=name)
