"""Broken bytes of every format: only our own error comes out, and the same each time; `make fuzz` looks for more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.serving.api.uploads import READERS
from tests.residents import uploaded
from tests.residents.fuzz import CASES, FORMATS, case, check, sound
from tests.residents.test_offline import Listener
from tkm_core.residents import FORMATS as REGISTERED

SEED, EACH = 20_240, 40
KEPT = sorted(path for path in CASES.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("suffix", FORMATS)
def test_broken_files(suffix):
    listener = Listener()
    seeds = {suffix: sound(suffix, listener.url)}
    check(seeds[suffix], f"town{suffix}")
    for number in range(EACH):
        check(*case(SEED, number, seeds))
    listener.socket.close()
    assert listener.heard == []


def test_every_kind_and_format_that_can_be_uploaded_is_broken() -> None:
    """A new kind of upload, a new format of residents and a new kind of road file are tried without being listed."""
    assert set(uploaded.KINDS) >= set(READERS)
    assert {uploaded.SAME.get(kind, kind) for kind in uploaded.KINDS} == set(uploaded.READ)
    assert set(uploaded.SUFFIXES) == set(uploaded.WRITE)
    for one in REGISTERED.values():
        assert any(
            label.removesuffix(".gz").removesuffix(".zip").endswith(one.suffixes) for label in FORMATS
        ), one.kind
    for suffix in uploaded.EXTRACTS:
        assert f".roads{suffix}" in FORMATS


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_files_that_once_broke_a_reader(path):
    check(path.read_bytes(), f"town{path.name[path.name.index('.') :]}")


def test_the_same_number_gives_the_same_file():
    seeds = {suffix: sound(suffix) for suffix in (".csv", ".geojson", ".csv.gz", ".zip")}
    assert [case(1, number, seeds) for number in range(40)] == [
        case(1, number, seeds) for number in range(40)
    ]


@given(data=st.binary(max_size=400), suffix=st.sampled_from([*FORMATS, ".shp", ""]))
@settings(max_examples=60, deadline=None)
def test_any_bytes(data, suffix):
    check(data, f"town{suffix}")


@given(
    rows=st.lists(
        st.lists(st.text(alphabet="0123456789.,;-+eE°\"'\t |nNaéß人\n", max_size=8), max_size=5), max_size=8
    ),
    delimiter=st.sampled_from(",;\t|"),
)
@settings(max_examples=60, deadline=None)
def test_any_table(rows, delimiter):
    text = f"lat{delimiter}lon{delimiter}population\n" + "\n".join(delimiter.join(row) for row in rows)
    check(text.encode(), "town.csv")
