"""Every page tried by everyone: what belongs to a project is shown to its people alone, and changed by its editors."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.serving.plan_settings import FIELDS
from pages.serving.rule_data import NOTHING, places_bytes
from pages.serving.store import Actor, Draft, Scenario, store
from pages.serving.store.packing import existing_bytes, residents_bytes
from pages.session import stored_data
from tests.pages.conftest import PAGES, Opened, turn_to
from tkm_core import load_residents
from tkm_core.export import plan_json
from tkm_core.planning import make_plan
from tkm_core.residents import Existing, Report, Sites

ANN = Actor("ann@example.org", "Ann")
TOWN = "id,lon,lat\n" + "".join(f"Yard {n},{1 + n % 6 * 0.01},{43 + n // 6 * 0.01}\n" for n in range(36))
SECRETS = (
    "Velvet",
    "Saffron",
    "Cobalt",
    "Amber",
)  # in what data, facilities, sites and the scenario are called
# the buttons that each role has on the Scenarios page
BUTTONS = {
    "viewer": set(),
    "editor": {"rename", "double", "delete", "change"},
    "owner": {"rename", "double", "delete", "change", "share", "revoke"},
}


@dataclass(frozen=True)
class Case:
    """A project of Ann's, and the links to it by role."""

    one: Scenario
    links: dict[str, str]

    def address(self, role: str) -> dict[str, str]:
        """The address of the scenario, as somebody with a link, or with none, has it."""
        key = {"project": self.links[role]} if role in self.links else {}
        return {**self.one.settings, "scenario": self.one.id, **key}


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    monkeypatch.setattr(stored_data, "TRUST", 0.0)
    # what is shown instead of data that are gone: a small city
    monkeypatch.setitem(FIELDS, "dataset", replace(FIELDS["dataset"], default="generated-61"))
    town = load_residents(BytesIO(TOWN.encode()), name="velvet.csv")
    clinic = Existing(np.array([[1.02, 43.03]]), ("Saffron clinic",), Report())
    halls = Sites(
        np.array([[1 + n * 0.01, 43.02] for n in range(5)]), tuple(f"Cobalt hall {n}" for n in range(5))
    )
    drawn = NOTHING.with_sites(halls, "halls")
    kept = {
        "upload": store().add_dataset(ANN, "residents", residents_bytes(town), title="Velvet ward"),
        "existing": store().add_dataset(ANN, "existing", existing_bytes(clinic)),
        "places": store().add_dataset(ANN, "places", places_bytes(drawn)),
    }
    plan = make_plan(
        town, 2, fixed_lonlat=clinic.lonlat, fixed_names=clinic.names, sites=drawn.sites, with_t=0.25
    )
    settings = {"dataset": "upload", "k": "2", "t": "0.25"} | {name: one.token for name, one in kept.items()}
    draft = Draft("Amber plan", settings, {}, plan_json(plan, plan.index(0.25)), "Amber note")
    one, _ = store().save_scenario(ANN, draft, title="Velvet project")
    links = {role: store().share(ANN, one.project_id, role)[1] for role in BUTTONS}
    gone, links["withdrawn"] = store().share(ANN, one.project_id, "owner")
    store().revoke(ANN, one.project_id, gone.id)
    links["expired"] = store().share(ANN, one.project_id, "owner", days=1e-9)[1]
    yield Case(one, links)
    store().delete_project(ANN, one.project_id)


def shown(app: AppTest) -> str:
    """All that a page has."""
    return " ".join(str(getattr(part, "proto", "")) for part in [*app.main, *app.sidebar])


def verbs(app: AppTest) -> set[str]:
    """What can be done to something: the first words of the keys of buttons, as in delete_project."""
    return {key.partition("_")[0] for key in (one.key or "" for one in app.button) if "_" in key}


@pytest.mark.parametrize("role", ["nobody", "withdrawn", "expired"])
def test_strangers_see_nothing_of_a_project_on_any_page(opened: Opened, case: Case, role: str) -> None:
    app = opened(**case.address(role))
    for page in PAGES:
        turn_to(app, page)
        found = shown(app)
        assert not app.exception
        assert not [secret for secret in SECRETS if secret.lower() in found.lower()], page
        assert not verbs(app) & BUTTONS["owner"]


@pytest.mark.parametrize("role", BUTTONS)
def test_people_of_a_project_see_it_and_have_what_their_role_allows(
    opened: Opened, case: Case, role: str
) -> None:
    app = opened(**case.address(role))
    assert not app.warning
    assert "Velvet ward" in shown(app) and "It is shown as it was saved" in shown(app)
    turn_to(app, "sites")
    assert "5 candidate sites" in shown(app)
    turn_to(app, "scenarios")
    found = shown(app)
    assert "Velvet project" in found and "Amber plan" in found and "Amber note" in found
    assert verbs(app) & BUTTONS["owner"] == BUTTONS[role]
