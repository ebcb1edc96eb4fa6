"""Who somebody is: only an address that the provider verified counts, and no two people are one."""

from typing import Any

import pytest

from pages.serving.people import known_as

ANN = {"email": "Ann@example.org", "iss": "https://login.example", "sub": "7", "name": "Ann"}


@pytest.mark.parametrize(
    "said", [None, "false", "False", "true", "True", 0, 1, "1", [], [True], {"a": 1}, False]
)
def test_an_address_counts_only_if_the_provider_says_true(said: Any) -> None:
    person, _ = known_as(ANN | {"email_verified": said})
    assert person.startswith("id-") and len(person) == 67
    assert person == known_as({"iss": ANN["iss"], "sub": ANN["sub"]})[0], (
        "an address that is not verified says nothing"
    )


def test_an_address_of_which_the_provider_says_nothing_does_not_count() -> None:
    assert known_as(ANN)[0].startswith("id-")
    assert known_as(ANN | {"email_verified": True}) == ("ann@example.org", "Ann")


def test_an_unverified_address_is_not_shown_as_a_name() -> None:
    nameless = {name: value for name, value in ANN.items() if name != "name"}
    assert "ann" not in known_as(nameless)[1].lower()
    assert known_as(nameless | {"email_verified": True})[1] == "ann@example.org"


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ann",
        "an n@example.org",
        "Ann@example.org\n",
        "a@" + "b" * 120,
        "a@b@c",
        "\u212aate@example.org",
        7,
        None,
    ],
)
def test_what_is_no_plain_address_is_none(email: object) -> None:
    """The Kelvin sign becomes a k when it is made small: its owner would be somebody else."""
    assert known_as(ANN | {"email": email, "email_verified": True})[0].startswith("id-")


def test_no_two_people_are_one_however_long_or_odd_they_are_called() -> None:
    long = "https://login.example/" + "x" * 500
    told = [
        (f"{long}/a", "7"), (f"{long}/b", "7"), (long, "7" * 500 + "a"), (long, "7" * 500 + "b"),
        ("https://a|b", "c"), ("https://a", "b|c"), ("https://a", "|b|c"), ("", "7"), ("https://login.example", "7"),
    ]  # fmt: skip
    assert len({known_as({"iss": issuer, "sub": subject})[0] for issuer, subject in told}) == len(told)
    assert known_as({"iss": "https://login.example"})[0] == "", "nobody, rather than everybody without a name"
