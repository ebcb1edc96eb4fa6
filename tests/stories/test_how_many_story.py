"""What one more facility brings, in a sentence that never says 0.0."""

import pytest

from tkm_core.planning import Count
from tkm_core.stories import impossible, one_more


@pytest.mark.parametrize(
    ("average", "farthest", "told"),
    [
        (30.0, 1800.0, "makes the average trip 30 m shorter; the farthest home comes 1.8 km closer."),
        (0.0, 0.0, "leaves the average trip as it is; the farthest home has as far to go as before."),
        (-40.0, 4.0, "makes the average trip 40 m longer; the farthest home has as far to go as before."),
        (900.0, 2e6, "makes the average trip 0.9 km shorter; the farthest home comes 2,000.0 km closer."),
    ],
)
def test_small_changes_are_told_with_the_digits_they_need(average: float, farthest: float, told: str) -> None:
    before = Count(4, {"mean_distance": 5000.0, "largest_distance": 3e6}, {})
    after = Count(5, {"mean_distance": 5000.0 - average, "largest_distance": 3e6 - farthest}, {})
    for n_existing, subject in ((0, "A 5th facility "), (24, "A 5th new facility ")):
        assert (
            one_more([before, after], 4, unit="km", people="homes", n_existing=n_existing) == subject + told
        )


def test_miles_are_miles() -> None:
    before, after = (
        Count(k, {"mean_distance": 1609.344 * (3 - k), "largest_distance": 9e3}, {}) for k in (0, 1)
    )
    assert one_more([before, after], 0, unit="mi", people="homes", n_existing=2).startswith(
        "One new facility makes the average trip 1.0 miles shorter"
    )


def test_numbers_in_a_row_share_a_sentence_only_if_they_share_the_reason() -> None:
    room = "{} can serve {} people; there are 1,000."
    told = impossible(
        {
            1: room.format("1 facility", "300"),
            2: room.format("2 facilities", "600"),
            3: "Nobody can reach two of them.",
            4: "There are only 3 sites.",
            5: "There are only 3 sites.",
        }
    )
    assert told == [
        "1 and 2 facilities are not shown: 2 facilities can serve 600 people; there are 1,000.",
        "3 facilities are not shown: Nobody can reach two of them.",
        "4 and 5 facilities are not shown: There are only 3 sites.",
    ]
