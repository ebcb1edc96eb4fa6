"""Upgrades: whoever was known under an address that nobody verified, or under a cut name, is not somebody else now."""

import sqlalchemy as sa

from pages.serving.people import known_as
from pages.serving.store import Actor, Store
from tests.serving.store.conftest import NewUrl

LONG = "https://login.example/" + "x" * 200


def test_people_known_by_issuer_and_subject_are_known_by_their_hash_after_the_upgrade(
    new_url: NewUrl,
) -> None:
    url = new_url()
    old = Store(url)
    old.database.migrate("0002")
    tables = sa.MetaData()
    with old.database.engine.connect() as connection, connection.begin():
        tables.reflect(connection)
        told = {"name": "P", "note": "", "rules": {}, "version": 1, "created": 1.0, "updated": 1.0}
        for name, person in {
            "a": "https://login.example|auth0|7",
            "b": f"{LONG}|7"[:120],
            "c": "ann@example.org",
        }.items():
            connection.execute(sa.insert(tables.tables["project"]).values(id=name, **told))
            member = {"project_id": name, "person": person, "role": "owner", "added": 1.0}
            connection.execute(sa.insert(tables.tables["member"]).values(member))
    old.close()
    now = Store(url)
    seventh, _ = known_as({"iss": "https://login.example", "sub": "auth0|7"})
    assert [one.id for one in now.projects_of(Actor(seventh))] == ["a"]
    cut, _ = known_as({"iss": LONG, "sub": "7"})
    assert now.projects_of(Actor(cut)) == [], "a cut name may have been somebody else's"
    ann = {"iss": "https://login.example", "sub": "8", "email": "ann@example.org"}
    unverified, _ = known_as(ann)
    assert now.projects_of(Actor(unverified)) == []
    verified, _ = known_as(ann | {"email_verified": True})
    assert [one.id for one in now.projects_of(Actor(verified))] == ["c"]
    now.rename_person(f"{LONG}|7"[:120], cut)
    assert [one.id for one in now.projects_of(Actor(cut))] == ["b"], (
        "whoever runs the server may hand them over"
    )
    now.close()
