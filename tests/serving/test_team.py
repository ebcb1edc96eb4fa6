"""Two servers on one database, as compose.yaml's profile `team` runs them: what one takes in opens on the other."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from streamlit.proto.ClientState_pb2 import ClientState

from benchmarks import load
from tests.serving import postgres
from tests.serving.api.conftest import TOWN
from tests.serving.test_server import Running, answers
from tests.waiting import PATIENCE, finish, until

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
TEAM = {name: one for name, one in SERVICES.items() if one.get("profiles") == ["team"]}


class Team:
    """Two servers, and the database they share, if it is one that can be stopped."""

    def __init__(self, folder: Path, url: str, database: postgres.Postgres | None) -> None:
        settings = {"EVENREACH_DATABASE": url, "EVENREACH_WORKERS": "0"}
        self.database = database
        self.servers = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            self.servers.append(Running(folder / name, **settings))

    def call(self, number: int, method: str, path: str, *, key: str = "", **more: Any) -> httpx.Response:
        url = f"{self.servers[number].url}/api{path}"
        headers = {"X-Project-Key": key} if key else {}
        return httpx.request(method, url, headers=headers, timeout=PATIENCE, trust_env=False, **more)

    def page(self, number: int, query: str) -> str:
        """All the text that a server sends for a page."""

        async def sent() -> str:
            async with load.visits(self.servers[number].port, 1) as (one,):
                return str(await answers(one, ClientState(query_string=query, page_name="plan")))

        return str(finish(sent()))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    if "postgresql" not in postgres.BACKENDS:  # two servers of one machine can share a file as well
        yield from _running(Team(folder, f"sqlite:///{folder}/kept.db", None))
        return
    with postgres.running() as database:
        yield from _running(Team(folder, database.new("team"), database))


def _running(team: Team) -> Iterator[Team]:
    yield team
    for server in team.servers:
        server.stop()


def saved(team: Team) -> dict[str, Any]:
    """A scenario, with its data, that came through the first server."""
    town = team.call(0, "POST", "/datasets", files={"file": ("town.csv", TOWN)}, data={"title": "Our town"})
    assert town.status_code == 201, town.text
    wish = {"plan": {"dataset": town.json()["token"], "k": 2, "t": 0.3}, "title": "Clinics"}
    made = team.call(0, "POST", "/scenarios", json=wish)
    assert made.status_code == 201, made.text
    return {**made.json(), "loose": town.json()["token"]}


@pytest.mark.nightly
def test_what_one_server_takes_in_opens_on_the_other(team: Team) -> None:
    one = saved(team)
    key = one["project_key"]
    for path in (
        f"/datasets/{one['loose']}",
        f"/scenarios/{one['id']}",
        f"/projects/{one['project']}/history",
    ):
        here, there = (team.call(number, "GET", path, key=key) for number in (0, 1))
        assert here.status_code == 200 and here.json() == there.json()
    file = f"/scenarios/{one['id']}/files/facilities.geojson"
    assert team.call(1, "GET", file, key=key).content == team.call(0, "GET", file, key=key).content
    wish = {"dataset": one["loose"], "k": 3}
    assert (
        team.call(1, "POST", "/plans", json=wish).json()["facilities"]
        == team.call(0, "POST", "/plans", json=wish).json()["facilities"]
    )
    shown = team.page(1, f"dataset=upload&upload={one['loose']}&k=2")
    assert "Our town" in shown and "no longer here" not in shown
    shown = team.page(1, one["link"].partition("?")[2] + f"&project={key}")
    assert "Open scenario: **2 facilities, t = 0.3**" in shown
    renamed = team.call(1, "PATCH", f"/scenarios/{one['id']}", key=key, json={"version": 1, "name": "Two"})
    assert renamed.status_code == 200
    late = team.call(0, "PATCH", f"/scenarios/{one['id']}", key=key, json={"version": 1, "name": "Second"})
    assert (late.status_code, "Somebody else" in late.json()["detail"]) == (409, True)
    assert team.call(1, "DELETE", f"/projects/{one['project']}", key=key).status_code == 204
    assert team.call(0, "GET", f"/scenarios/{one['id']}", key=key).status_code == 404
    copy = one["settings"]["upload"]
    assert team.call(0, "GET", f"/datasets/{copy}", key=key).status_code == 404, "its data went with it"


@pytest.mark.nightly
def test_while_the_database_is_away_servers_say_so_and_plan_on(team: Team) -> None:
    if team.database is None:  # a file cannot stop
        return
    one = saved(team)
    key, path = one["project_key"], f"/scenarios/{one['id']}"
    team.database.stop()
    for number in (0, 1):
        away = team.call(number, "GET", path, key=key)
        assert (away.status_code, away.headers["retry-after"]) == (503, "10")
        assert "does not answer right now" in away.json()["detail"]
        plan = team.call(number, "POST", "/plans", json={"dataset": "generated-91", "k": 2})
        assert plan.status_code == 200
        assert "sentence" in team.page(number, "dataset=generated-91&k=2")
        assert team.servers[number].health()["status"] == "ok"
    team.database.start()
    for number in (0, 1):
        until(lambda number=number: team.call(number, "GET", path, key=key).status_code == 200)  # type: ignore[misc]


@pytest.mark.nightly
def test_a_server_that_is_killed_takes_nothing_along(team: Team) -> None:
    """The last test here: one server is gone afterwards."""
    one = saved(team)
    team.servers[0].process.kill()
    team.servers[0].process.wait(PATIENCE)
    told = team.call(1, "GET", f"/scenarios/{one['id']}", key=one["project_key"])
    assert (told.status_code, told.json()["measures"]) == (200, one["measures"])
    assert "Our town" in team.page(1, f"dataset=upload&upload={one['loose']}&k=2")


def test_compose_has_a_team_beside_the_default() -> None:
    assert [name for name, one in SERVICES.items() if "profiles" not in one] == ["evenreach"], "the default"
    assert set(TEAM) == {"one", "two", "database", "front"}
    usual = SERVICES["evenreach"]
    for name in ("one", "two"):
        server = TEAM[name]
        changed = {key for key in server if server[key] != usual.get(key)}
        assert changed == {"profiles", "ports", "environment", "volumes", "secrets", "networks", "depends_on"}
        told = server["environment"]
        own = {key for key in told if told[key] != usual["environment"][key]}
        assert own == {"EVENREACH_DATABASE", "EVENREACH_DATABASE_PASSWORD_FILE", "EVENREACH_PROXIES"}
        assert told["EVENREACH_DATABASE"] == "postgresql://evenreach@database/evenreach"
        assert told["EVENREACH_PROXIES"] == COMPOSE["networks"]["team"]["ipam"]["config"][0]["subnet"]
        assert server["ports"] == [], "only nginx reaches it"
    assert "ports" not in TEAM["database"], "only the servers reach it"
    for name, one in SERVICES.items():
        assert set(one.get("depends_on", ())) <= set(SERVICES), name
        assert set(one.get("networks", ())) <= set(COMPOSE["networks"]), name
        assert {wanted["source"] for wanted in one.get("configs", ())} <= set(COMPOSE["configs"]), name
        mounted = [volume.partition(":")[0] for volume in one.get("volumes", ())]
        assert set(mounted) <= set(COMPOSE["volumes"]), name


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_no_more_rights_than_it_needs(name: str) -> None:
    one = SERVICES[name]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "pid", "ipc", "network_mode"} & set(one)
    assert one["mem_limit"] and one["pids_limit"]
    for temporary in one["tmpfs"]:
        assert {"noexec", "nosuid", "nodev"} <= set(temporary.partition(":")[2].split(",")), temporary
    # the image of EvenReach says itself who runs it
    user = "10001:10001" if one["image"] == "evenreach:latest" else one["user"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_each_service_reaches_only_what_it_has_to() -> None:
    reached = {name: set(one["networks"]) for name, one in SERVICES.items()}
    closed = {name for name, net in COMPOSE["networks"].items() if net and net.get("internal") is True}
    assert closed == {"store", "cluster"}
    servers = {"evenreach", "one", "two"}
    assert reached["database"] == {"store"}
    assert reached["scheduler"] == reached["worker"] == {"cluster"}
    assert {name for name in reached if "store" in reached[name]} == {"database", "one", "two"}
    assert {name for name in reached if "cluster" in reached[name]} == servers | {"scheduler", "worker"}
    assert reached["front"] == {"team"}
    published = {name: one["ports"] for name, one in SERVICES.items() if one.get("ports")}
    assert set(published) == {"evenreach", "front"}
    for ports in published.values():
        assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_password_is_a_file_for_the_database_and_its_servers_alone() -> None:
    (secret,) = COMPOSE["secrets"]
    file = f"/run/secrets/{secret}"
    assert {name for name, one in SERVICES.items() if one.get("secrets")} == {"one", "two", "database"}
    for name in ("one", "two"):
        assert TEAM[name]["environment"]["EVENREACH_DATABASE_PASSWORD_FILE"] == file
    assert TEAM["database"]["environment"]["POSTGRES_PASSWORD_FILE"] == file
    for one in SERVICES.values():
        secrets = [
            key for key in one.get("environment", {}) if re.search(r"PASSWORD(?!_FILE)|SECRET|TOKEN|KEY", key)
        ]
        assert not secrets
    assert not {
        key for name in ("scheduler", "worker", "front") for key in SERVICES[name].get("environment", {})
    }


def test_nginx_keeps_a_browser_with_one_server_and_lets_its_websocket_through() -> None:
    text = COMPOSE["configs"]["nginx"]["content"]
    assert not re.search(r"(?<!\$)\$(?!\$)", text), "compose would take a single $ for a variable of its own"
    assert re.findall(r"server (\w+):8501", text) == ["one", "two"]
    for line in (
        "hash $$uid_got$$uid_set consistent;",
        "proxy_set_header Upgrade $$http_upgrade;",
        "proxy_set_header Host $$http_host;",
        "proxy_set_header X-Forwarded-For $$proxy_add_x_forwarded_for;",
    ):
        assert line in text
    assert text.count("{") == text.count("}")
    (published,) = TEAM["front"]["ports"]
    assert published.endswith(":8080") and "listen 8080;" in text
    assert (
        json.dumps(TEAM["front"]["command"]) == '["nginx", "-c", "/etc/nginx/team.conf", "-g", "daemon off;"]'
    )
