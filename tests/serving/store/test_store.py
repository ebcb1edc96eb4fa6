"""Projects, scenarios, data sets: what is kept comes back, and goes when it is deleted."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.serving.store import Actor, ConflictError, DeniedError, Draft, Store, StoreError
from pages.serving.store.blobs import PIECE
from pages.serving.store.records import cleaned, cleaned_note
from pages.serving.store.schema import BLOB, CHUNK, METADATA
from tests.serving.store.conftest import ANN, BEN, NewUrl, saved, swept

LARGE = bytes(range(256)) * (PIECE // 100)  # in three pieces


def rows(store: Store) -> dict[str, int]:
    """How many rows each table has."""
    with store.database.reading() as connection:
        return {
            name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for name, table in METADATA.tables.items()
        }


def test_a_scenario_comes_back_as_it_was_saved(store: Store, url: str) -> None:
    draft = Draft(
        "Six",
        {"k": "6", "pins": "1.0,2.0"},
        {"mean_distance": 1.25},
        b"\x00plan",
        "why\nnot",
        {"light": "<svg/>"},
    )
    made, secret = store.save_scenario(ANN, draft, title="Clinics")
    assert secret == ""
    other = Store(url)  # another server
    found, project = other.open_scenario(ANN, made.id)
    assert found == made
    assert (found.name, found.note, dict(found.settings)) == (
        "Six",
        "why\nnot",
        {"k": "6", "pins": "1.0,2.0"},
    )
    assert (found.figures, found.pictures) == ({"mean_distance": 1.25}, {"light": "<svg/>"})
    assert other.plan_of(ANN, made.id) == b"\x00plan"
    assert (project.name, project.role, found.author, found.parent) == ("Clinics", "owner", "Ann", "")
    assert [event.what for event in other.history(ANN, project.id)] == ["saved", "made the project"]
    other.close()


def test_without_a_name_a_project_belongs_to_whoever_has_its_link(store: Store) -> None:
    nobody = Actor()
    made, secret = store.save_scenario(nobody, Draft("A", {}, {}, b"1"), title="Mine")
    assert len(secret) >= 30
    holder = Actor(keys=(secret,))
    assert [one.name for one in store.projects_of(holder)] == ["Mine"]
    assert store.open_scenario(holder, made.id)[0].author == "somebody with the link"
    assert store.projects_of(nobody) == []
    with pytest.raises(DeniedError):
        store.open_scenario(nobody, made.id)
    with store.database.reading() as connection:  # a copy of the database hands out no link
        everything = str([connection.execute(sa.select(table)).all() for table in METADATA.tables.values()])
    assert secret not in everything


def test_the_second_of_two_who_rename_is_told_and_nothing_is_overwritten(store: Store) -> None:
    one = saved(store)
    store.set_member(ANN, one.project_id, BEN.person, "editor")
    store.change_scenario(ANN, one.id, one.version, name="Ann's")
    with pytest.raises(ConflictError, match="Somebody else changed this"):
        store.change_scenario(BEN, one.id, one.version, name="Ben's")
    found = store.open_scenario(BEN, one.id)[0]
    assert found.name == "Ann's"
    assert store.change_scenario(BEN, one.id, found.version, note="Ben's view").note == "Ben's view"
    project = store.project(ANN, one.project_id)
    store.change_project(ANN, project.id, project.version, name="New", rules={"closed": [1]})
    with pytest.raises(ConflictError):
        store.change_project(BEN, project.id, project.version, name="Newer")
    told = [(event.author, event.what, event.scenario) for event in store.history(ANN, project.id)]
    assert told[:3] == [
        ("Ann", "changed the project", ""),
        ("Ben", "changed the note of", "Ann's"),
        ("Ann", "renamed", "A"),
    ]


def test_a_duplicate_goes_its_own_way(store: Store) -> None:
    one = saved(store, plan=b"plan")
    two = store.duplicate_scenario(ANN, one.id, "A, but with five")
    assert (two.parent, two.settings, two.figures) == (one.id, one.settings, one.figures)
    store.delete_scenario(ANN, one.id)
    assert store.plan_of(ANN, two.id) == b"plan"
    assert [found.id for found in store.scenarios_of(ANN, one.project_id)] == [two.id]
    assert store.projects_of(ANN)[0].scenarios == 1


def test_deleting_a_scenario_can_be_undone_for_thirty_days(store: Store) -> None:
    one = saved(store)
    store.delete_scenario(ANN, one.id)
    with pytest.raises(DeniedError):
        store.open_scenario(ANN, one.id)
    assert [gone.id for gone in store.scenarios_of(ANN, one.project_id, deleted=True)] == [one.id]
    swept(store, 29)
    store.restore_scenario(ANN, one.id)
    assert store.open_scenario(ANN, one.id)[0].name == "A"
    store.delete_scenario(ANN, one.id)
    swept(store, 62)
    assert store.scenarios_of(ANN, one.project_id, deleted=True) == []
    assert rows(store)["blob"] == 0


def test_an_upload_opens_by_its_token_and_large_ones_are_kept_in_pieces(store: Store, url: str) -> None:
    upload = store.add_dataset(ANN, "residents", LARGE, title="Town", people="homes")
    again = store.add_dataset(BEN, "residents", LARGE, title="Town")
    other = Store(url)
    assert other.content(Actor(), upload.token) == LARGE
    assert other.dataset(Actor(), upload.token) == upload
    assert other.dataset(Actor(), "B" * 32) is None
    assert (rows(store)["blob"], rows(store)["chunk"]) == (1, 3)
    other.erase_dataset(ANN, upload.token)
    assert other.content(BEN, again.token) == LARGE, "the same file of somebody else stays"
    with pytest.raises(DeniedError):
        other.erase_dataset(ANN, again.token)
    other.erase_dataset(BEN, again.token)
    assert rows(store)["chunk"] == 0
    other.close()


def test_deleting_a_project_deletes_its_data_at_once_and_nobody_elses(store: Store) -> None:
    mine = store.add_dataset(ANN, "residents", LARGE, title="Town")
    other = store.add_dataset(BEN, "residents", b"small", title="Village")
    one = saved(store, settings={"upload": mine.token, "existing": other.token})
    kept = store.open_scenario(ANN, one.id)[0].settings
    assert kept["upload"] not in (mine.token, "")
    assert store.content(ANN, kept["upload"]) == LARGE
    with pytest.raises(DeniedError):
        store.content(BEN, kept["upload"])
    two = saved(store, project=one.project_id, settings={"upload": mine.token})
    assert two.settings["upload"] == kept["upload"], "one copy a project"
    store.delete_project(ANN, one.project_id)
    assert store.dataset(ANN, mine.token) is None, "the upload it was made of goes, too"
    assert store.content(BEN, other.token) == b"small"
    left = rows(store)
    assert (left["project"], left["scenario"], left["member"], left["share"], left["event"]) == (
        0,
        0,
        0,
        0,
        0,
    )
    assert (left["dataset"], left["blob"]) == (1, 1)


def test_a_plan_whose_data_are_not_here_is_not_half_saved(store: Store) -> None:
    before = rows(store)
    with pytest.raises(StoreError, match="not in the database"):
        saved(store, settings={"upload": "C" * 32})
    assert rows(store) == before


def test_damage_is_noticed(store: Store) -> None:
    upload = store.add_dataset(ANN, "residents", b"whole")
    with store.database.writing() as connection:
        connection.execute(sa.update(CHUNK).values(content=b"other"))
    with pytest.raises(StoreError, match="damaged"):
        store.content(ANN, upload.token)


def test_retention(store: Store) -> None:
    loose = store.add_dataset(ANN, "residents", b"1")
    one = saved(store, settings={"upload": store.add_dataset(ANN, "residents", b"2").token})
    swept(store, 28, upload_days=30)
    assert store.dataset(ANN, loose.token)
    swept(store, 31, upload_days=30)
    assert store.dataset(ANN, loose.token) is None
    assert store.content(ANN, one.settings["upload"]) == b"2", "projects stay until somebody deletes them"
    swept(store, 400, upload_days=30, project_days=365)
    assert store.projects_of(ANN) == []
    assert rows(store)["blob"] == 0


def test_a_thousand_projects_are_listed_by_a_few_queries_that_carry_no_pictures(store: Store) -> None:
    """How long that takes is measured by ``python -m benchmarks.store``."""
    from pages.serving.store import blobs
    from pages.serving.store.projects import make_project
    from pages.serving.store.scenarios import _row
    from pages.serving.store.schema import SCENARIO

    with store.database.writing() as connection:
        plan = blobs.put(connection, b"{}")
        for number in range(1000):
            project, _ = make_project(connection, ANN, f"Project {number}", payer="")
            draft = Draft("A", {}, {}, b"", pictures={"light": 30_000 * "x"} if number % 10 == 0 else {})
            connection.execute(
                sa.insert(SCENARIO).values(_row(ANN, draft, project.id, {}, plan) | {"size": 0, "payer": ""})
            )
        make_project(connection, BEN, "Not Ann's", payer="")
    asked: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    sa.event.listen(store.database.engine, "before_cursor_execute", note)
    found = [*store.projects_of(ANN, 500), *store.projects_of(ANN, 10_000, 500)]
    sa.event.remove(store.database.engine, "before_cursor_execute", note)
    assert (len(found), found[0].scenarios, {one.role for one in found}) == (1000, 1, {"owner"})
    queries = [statement for statement in asked if statement.startswith("SELECT") and "FROM" in statement]
    assert len(queries) <= 5, "twice five hundred projects, and what Ann may do in hers"
    assert len(store.projects_of(ANN)) == 50, "a page of a list, unless more is asked for"
    assert not any("pictures" in statement or "figures" in statement for statement in queries)


HOSTILE = [
    "'; drop table project; --",
    "<script>alert(1)</script>",
    "a\x00b",
    "\u202eevil",
    "\ud800",
    "",
    " \n ",
    "x" * 10_000,
    "名称🏥",
    "%s %(name)s {0}",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_kept_as_text(store: Store, name: str) -> None:
    draft = Draft(name, {"k": name}, {}, b"{}", name, parent=name)
    one, _ = store.save_scenario(ANN, draft, title=name)
    found, project = store.open_scenario(ANN, one.id)
    assert found.name == cleaned(name, 120, "Scenario")
    assert 0 < len(project.name) <= 120
    store.change_scenario(ANN, one.id, 1, name=name, note=name)
    store.share(ANN, project.id, "viewer", label=name)
    person = cleaned(name, 120)
    if person and len(name) <= 120:
        store.set_member(ANN, project.id, person, "viewer")
    else:
        with pytest.raises(StoreError, match="Say who it is"):
            store.set_member(ANN, project.id, name, "viewer")
    assert store.scenarios_of(ANN, name) if name == project.id else True
    for guess in (name, name * 2):
        with pytest.raises(DeniedError):
            store.open_scenario(ANN, cleaned(guess, 40))
    assert store.history(ANN, project.id)


@settings(max_examples=50)
@given(text=st.text(max_size=300))
def test_cleaned_text_is_one_line_and_stays_as_it_is_when_cleaned_again(text: str) -> None:
    once = cleaned(text, 120, "Name")
    assert once and len(once) <= 120 and "\n" not in once and "\x00" not in once
    assert cleaned(once, 120) == once
    assert "\x00" not in cleaned_note(text, 100) and len(cleaned_note(text, 100)) <= 100


def test_two_databases_know_nothing_of_each_other(new_url: NewUrl) -> None:
    one, two = Store(new_url()), Store(new_url())
    saved(one)
    assert two.projects_of(ANN) == []
    one.close()
    two.close()


def test_what_is_deleted_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    """SQLite only marks deleted pages as free, unless it is told to wipe them."""
    store = Store(f"sqlite:///{tmp_path / 'kept.db'}")
    secret = b"where Ann's patients live" * 50_000
    one = saved(store, settings={"upload": store.add_dataset(ANN, "residents", secret).token})
    assert b"patients" in (tmp_path / "kept.db").read_bytes() + (tmp_path / "kept.db-wal").read_bytes()
    store.delete_project(ANN, one.project_id)
    files = [file for file in tmp_path.glob("kept.db*") if not file.name.endswith("-reserve")]
    left = b"".join(file.read_bytes() for file in files)
    assert b"patients" not in left
    assert len(left) < len(secret), "the room is given back"
    assert rows(store)[BLOB.name] == 0
    store.close()
