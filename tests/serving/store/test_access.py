"""Another person's project cannot be read, guessed, changed or deleted: every operation is tried in every role."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from pages.serving.store import Actor, DeniedError, Draft, Scenario, Store, StoreError
from pages.serving.store.datasets import Datasets
from pages.serving.store.history import History
from pages.serving.store.projects import Projects
from pages.serving.store.removal import Removal
from pages.serving.store.scenarios import Scenarios
from pages.serving.store.sharing import Sharing
from pages.serving.store.tokens import MOST_TOKENS, Tokens
from tests.serving.store.conftest import ANN, BEN, EVE, saved, swept

ROLES = (
    "nobody",
    "stranger",
    "figures",
    "viewer",
    "editor",
    "owner",
    "figures by link",
    "viewer by link",
    "editor by link",
    "withdrawn",
    "expired",
)


@dataclass(frozen=True)
class Case:
    """A project of Ann's with a scenario, a deleted one and data; somebody else tries something."""

    one: Scenario
    gone: Scenario
    share: str
    unused: str
    binned: str

    @property
    def project(self) -> str:
        return self.one.project_id


Deed = Callable[[Store, Actor, Case], object]
# the least role for each operation, and the operation
DEEDS: dict[str, tuple[str, Deed]] = {
    "dataset": ("viewer", lambda s, a, c: s.dataset(a, c.one.settings["upload"]) or denied()),
    "content": ("viewer", lambda s, a, c: s.content(a, c.one.settings["upload"])),
    "owns_dataset": ("owner", lambda s, a, c: s.owns_dataset(a, c.one.settings["upload"]) or denied()),
    "remove_dataset": ("owner", lambda s, a, c: s.remove_dataset(a, c.unused)),
    "restore_dataset": ("owner", lambda s, a, c: s.restore_dataset(a, c.binned)),
    "erase_dataset": ("owner", lambda s, a, c: s.erase_dataset(a, c.binned)),
    "bin_of": ("owner", lambda s, a, c: s.bin_of(a, c.project)),
    "project": ("figures", lambda s, a, c: s.project(a, c.project)),
    "projects_of": ("figures", lambda s, a, c: s.projects_of(a) or denied()),
    "change_project": ("editor", lambda s, a, c: s.change_project(a, c.project, 1, name="X")),
    "delete_project": ("owner", lambda s, a, c: s.delete_project(a, c.project)),
    "share": ("owner", lambda s, a, c: s.share(a, c.project, "viewer")),
    "shares_of": ("owner", lambda s, a, c: s.shares_of(a, c.project)),
    "revoke": ("owner", lambda s, a, c: s.revoke(a, c.project, c.share)),
    "members_of": ("editor", lambda s, a, c: s.members_of(a, c.project)),
    "set_member": ("owner", lambda s, a, c: s.set_member(a, c.project, EVE.person, "owner")),
    "end_membership": ("owner", lambda s, a, c: s.end_membership(a, c.project, "viewer@example.org")),
    "history": ("figures", lambda s, a, c: s.history(a, c.project)),
    "save_scenario": ("editor", lambda s, a, c: s.save_scenario(a, Draft("B", {}, {}, b"2"), c.project)),
    "scenarios_of": ("figures", lambda s, a, c: s.scenarios_of(a, c.project)),
    "scenarios in the bin": ("editor", lambda s, a, c: s.scenarios_of(a, c.project, deleted=True)),
    "names_in": ("figures", lambda s, a, c: s.names_in(a, c.project)),
    "open_scenario": ("figures", lambda s, a, c: s.open_scenario(a, c.one.id)),
    "plan_of": ("viewer", lambda s, a, c: s.plan_of(a, c.one.id)),
    "change_scenario": ("editor", lambda s, a, c: s.change_scenario(a, c.one.id, 1, name="X")),
    "duplicate_scenario": ("editor", lambda s, a, c: s.duplicate_scenario(a, c.one.id, "X")),
    "delete_scenario": ("editor", lambda s, a, c: s.delete_scenario(a, c.one.id)),
    "restore_scenario": ("editor", lambda s, a, c: s.restore_scenario(a, c.gone.id)),
    "erase_scenario": ("owner", lambda s, a, c: s.erase_scenario(a, c.gone.id)),
    "copy into one's own": ("editor", lambda s, a, c: own_copy(s, a, c)),
}
OF_NO_PROJECT = {"new_project", "add_dataset"}
NOT_METHODS = {"copy into one's own", "scenarios in the bin"}
OF_A_PERSON = {"new_token", "tokens_of", "withdraw_token", "withdraw_all", "person_with", "rename_person"}


def denied() -> None:
    raise DeniedError


def own_copy(store: Store, actor: Actor, case: Case) -> None:
    """Try to get at another's data by saving a scenario that names them."""
    try:
        store.save_scenario(actor, Draft("Theft", {"upload": case.one.settings["upload"]}, {}, b"3"))
    except DeniedError:
        raise
    except StoreError as problem:
        raise DeniedError(str(problem)) from problem


def test_every_operation_is_tried() -> None:
    public = {
        name
        for part in (Datasets, Removal, Projects, Sharing, History, Scenarios, Tokens)
        for name, _ in inspect.getmembers(part, inspect.isfunction)
        if not name.startswith("_")
    }
    assert public == {*DEEDS, *OF_NO_PROJECT, *OF_A_PERSON} - NOT_METHODS


def actors(store: Store, case: Case) -> dict[str, Actor]:
    """Somebody for each role."""
    keys = {role: store.share(ANN, case.project, role)[1] for role in ("figures", "viewer", "editor")}
    expired = store.share(ANN, case.project, "owner", days=1e-9)[1]
    share, withdrawn = store.share(ANN, case.project, "owner")
    store.revoke(ANN, case.project, share.id)
    for role in ("figures", "viewer", "editor", "owner"):
        store.set_member(ANN, case.project, f"{role}@example.org", role)
    time.sleep(0.001)
    return {
        "nobody": Actor(),
        "stranger": replace(BEN, keys=("A" * 32, case.project, case.one.id, case.share)),
        **{role: Actor(f"{role}@example.org") for role in ("figures", "viewer", "editor", "owner")},
        "figures by link": Actor(keys=(keys["figures"],)),
        "viewer by link": Actor(keys=(keys["viewer"],)),
        "editor by link": Actor(keys=("x", keys["editor"])),
        "withdrawn": Actor(keys=(withdrawn,)),
        "expired": Actor(keys=(expired,)),
    }


RANK = {"figures": 1, "viewer": 2, "editor": 3, "owner": 4}


def new_case(store: Store) -> tuple[Case, dict[str, Actor]]:
    upload = store.add_dataset(ANN, "residents", b"where people live", title="Town")
    one = saved(store, settings={"upload": upload.token})
    gone = saved(store, project=one.project_id, name="gone")
    store.delete_scenario(ANN, gone.id)
    loose = [saved_alone(store, one.project_id, bytes([number])) for number in (1, 2)]
    store.remove_dataset(ANN, loose[1])
    share = store.share(ANN, one.project_id, "viewer", label="first")[0].id
    case = Case(one, gone, share, *loose)
    return case, actors(store, case)


def saved_alone(store: Store, project: str, content: bytes) -> str:
    """The token of data of a project that no scenario uses any more."""
    upload = store.add_dataset(ANN, "residents", content).token
    scenario = saved(store, project=project, settings={"upload": upload})
    store.delete_scenario(ANN, scenario.id)
    store.erase_scenario(ANN, scenario.id)
    return scenario.settings["upload"]


@pytest.mark.parametrize("deed", DEEDS)
def test_everyone_can_do_what_their_role_says_and_nothing_else(store: Store, deed: str) -> None:
    least, try_it = DEEDS[deed]
    case = None
    for role in ROLES:
        if case is None:
            case, people = new_case(store)
            before = everything(store, case)
        actor = people[role]
        if RANK.get(role.split()[0], 0) < RANK[least]:
            with pytest.raises(DeniedError):
                try_it(store, actor, case)
            assert everything(store, case) == before, "nothing was changed, and the next may try it"
            continue
        try_it(store, actor, case)
        if store.projects_of(ANN):
            store.delete_project(ANN, case.project)
        for left in store.projects_of(actor):
            if left.role == "owner":
                store.delete_project(actor, left.id)
        case = None


def everything(store: Store, case: Case) -> tuple[object, ...]:
    """All that Ann sees of her project."""
    return (
        store.project(ANN, case.project),
        store.scenarios_of(ANN, case.project),
        store.scenarios_of(ANN, case.project, deleted=True),
        store.shares_of(ANN, case.project),
        store.members_of(ANN, case.project),
        store.history(ANN, case.project),
        store.content(ANN, case.one.settings["upload"]),
    )


def test_the_sentence_does_not_tell_whether_it_exists(store: Store) -> None:
    one = saved(store)
    said = set()
    for project in (one.project_id, "there-is-none"):
        with pytest.raises(DeniedError) as refused:
            store.project(BEN, project)
        said.add(str(refused.value))
    for scenario in (one.id, "there-is-none"):
        with pytest.raises(DeniedError) as refused:
            store.open_scenario(BEN, scenario)
        said.add(str(refused.value))
    assert len(said) == 1


def test_somebody_has_to_own_a_project(store: Store) -> None:
    one = saved(store)
    with pytest.raises(StoreError, match="has to own"):
        store.end_membership(ANN, one.project_id, ANN.person)
    with pytest.raises(StoreError, match="has to own"):
        store.set_member(ANN, one.project_id, ANN.person, "editor")
    assert store.project(ANN, one.project_id).role == "owner"
    _, secret = store.save_scenario(Actor(), Draft("A", {}, {}, b"1"))
    holder = Actor(keys=(secret,))
    project = store.projects_of(holder)[0].id
    with pytest.raises(StoreError, match="has to own"):
        store.revoke(holder, project, store.shares_of(holder, project)[0].id)
    store.share(holder, project, "owner", label="the new private link")
    store.revoke(holder, project, store.shares_of(holder, project)[0].id)
    assert store.projects_of(holder) == [], "the old link opens nothing any more"


def test_a_token_is_its_persons_and_nobody_elses(store: Store) -> None:
    one, secret = store.new_token(ANN, "nightly <b>", days=1)
    assert (one.label, one.person) == ("nightly <b>", ANN.person)
    assert store.person_with(secret) == ANN
    assert store.person_with("evenreach_" + "A" * 32) is None
    assert store.tokens_of(BEN) == store.tokens_of(Actor()) == []
    for actor in (BEN, Actor(), Actor(keys=(secret,))):
        with pytest.raises(DeniedError):
            store.withdraw_token(actor, one.id)
    with pytest.raises(StoreError, match="signed in"):
        store.new_token(Actor(), "nobody's", days=1)
    for _ in range(MOST_TOKENS - 1):
        store.new_token(ANN, "", days=1)
    with pytest.raises(StoreError, match="at most 20 tokens"):
        store.new_token(ANN, "", days=1)
    assert store.withdraw_all("Ann@example.org ") == MOST_TOKENS
    assert store.person_with(secret) is None
    last = store.new_token(BEN, "old", days=1)[1]
    swept(store, 2)
    assert store.person_with(last) is None
