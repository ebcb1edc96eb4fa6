"""Edits from the browser: followed once, in order, and only if they are ours."""

from typing import Any

import pytest

from pages.live_map import Drawing, Site, Zone, follow_edits
from pages.serving.drawing import MOST_SITES

TOWN = Drawing(
    (Site("s1", "Hall", (1.4, 43.6)), Site("s2", "School", (1.5, 43.6), locked=True)),
    (Zone("z1", "Park", "not_in", ((1.0, 43.0), (1.1, 43.0), (1.1, 43.1))),),
)
RING = [[1.0, 43.0], [1.2, 43.0], [1.2, 43.2], [1.0, 43.2]]


def said(*edits: dict[str, Any]) -> dict[str, Any]:
    return {"said": {"seq": 99, "edits": list(edits)}}


def site(seq: int, known: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "what": "site", "id": known, "name": "", "lonlat": [1.45, 43.65]} | more


def test_edits_are_followed_in_their_order_and_only_once() -> None:
    edits = said(
        site(7, "new-7", name="  Two\n words "),
        site(6, "s1", lonlat=[1.41, 43.61], name="Hall"),
        {"seq": 8, "what": "no zone", "id": "z1"},
        {"seq": 9, "what": "zone", "id": "new-9", "name": "Old town", "kind": "only_in", "ring": RING},
    )
    drawing, seen = follow_edits(TOWN, 5, edits)
    assert seen == 9
    assert [(one.id, one.name, one.lonlat) for one in drawing.sites] == [
        ("s1", "Hall", (1.41, 43.61)),
        ("s2", "School", (1.5, 43.6)),
        ("new-7", "Two words", (1.45, 43.65)),
    ]
    assert [(zone.id, zone.kind, len(zone.ring)) for zone in drawing.zones] == [("new-9", "only_in", 4)]
    assert follow_edits(drawing, seen, edits) == (drawing, seen)
    later = said(*edits["said"]["edits"], {"seq": 12, "what": "no site", "id": "new-7"})
    assert follow_edits(drawing, seen, later)[0].sites == drawing.sites[:2]


@pytest.mark.parametrize(
    "edit",
    [
        site(1, "s2"),
        {"seq": 1, "what": "no site", "id": "s2"},
        site(1, "x", lonlat=[181, 0]),
        site(1, "x", lonlat=[float("nan"), 0]),
        site(1, "x", lonlat="here"),
        {"seq": 1, "what": "zone", "id": "x", "name": "", "kind": "near", "ring": RING},
        {"seq": 1, "what": "zone", "id": "x", "name": "", "kind": "only_in", "ring": RING[:2]},
        {"seq": 1, "what": "paint", "id": "x"},
        {"seq": 1},
    ],
)
def test_what_no_browser_of_ours_says_changes_nothing(edit: dict[str, Any]) -> None:
    assert follow_edits(TOWN, 0, said(edit)) == (TOWN, 1)


@pytest.mark.parametrize(
    "value", [None, {}, {"said": None}, {"said": {"edits": 5}}, {"said": {"edits": [None]}}]
)
def test_nothing_sensible_is_no_edit(value: Any) -> None:
    assert follow_edits(TOWN, 3, value) == (TOWN, 3)


def test_there_is_an_end_to_what_is_drawn() -> None:
    full = Drawing(tuple(Site(str(n), "", (1.0, 43.0)) for n in range(MOST_SITES)))
    assert follow_edits(full, 0, said(site(1, "one more")))[0] == full
    assert follow_edits(full, 0, said(site(1, "7", name="New name")))[0].sites[7].name == "New name"
