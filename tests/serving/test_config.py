"""Settings: every bad one is refused with a sentence, and every one is documented."""

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pages.serving.config import Config, ConfigError
from pages.serving.jobs.files import READERS

ROOT = Path(__file__).parents[2]
NAMES = ["EVENREACH_" + setting.name.upper() for setting in fields(Config)]


def test_nothing_set_is_fine() -> None:
    assert Config.read({"PATH": "/bin", "STREAMLIT_X": "y"}) == Config()


def test_every_setting_can_be_set() -> None:
    given = {
        "EVENREACH_UPLOAD_MB": "50",
        "EVENREACH_UPLOADS_MB": "100",
        "EVENREACH_MOST_CONNECTIONS": "20",
        "EVENREACH_MOST_PAGES": "9",
        "EVENREACH_MOST_CALLS": "3",
        "EVENREACH_PATIENCE_S": "5",
        "EVENREACH_HOSTS": "Reach.example.org, *.example.net",
        "EVENREACH_PROXIES": "10.0.0.5, 172.16.0.0/12,::1",
        "EVENREACH_MOST_RESIDENTS": " 100000 ",
        "EVENREACH_MOST_FACILITIES": "20",
        "EVENREACH_WORKERS": "0",
        "EVENREACH_WORKER_MEMORY_MB": "512",
        "EVENREACH_MOST_WAITING": "5",
        "EVENREACH_JOB_MINUTES": "2",
        "EVENREACH_PORT": "80",
        "EVENREACH_ADDRESS": "127.0.0.1",
        "EVENREACH_BASE_PATH": "tools/reach",
        "EVENREACH_OFFLINE_MAPS": "Yes",
        "EVENREACH_LOGIN": "on",
        "EVENREACH_READ_SECONDS": "20",
        "EVENREACH_PROOF_SECONDS": "9",
        "EVENREACH_DATABASE": "postgresql://reach:secret@db/reach",
        "EVENREACH_DATABASE_PASSWORD_FILE": "/run/secrets/password",
        "EVENREACH_STORE_MB": "500",
        "EVENREACH_STORE_ENTRIES": "5000",
        "EVENREACH_PERSON_MB": "50",
        "EVENREACH_PERSON_ENTRIES": "100",
        "EVENREACH_UPLOAD_DAYS": "7",
        "EVENREACH_PROJECT_DAYS": "400",
        "EVENREACH_SCHEDULER": "tcp://10.0.0.5:8786",
        "EVENREACH_DATASETS": "/datasets",
    }
    assert sorted(given) == sorted(NAMES)
    settings = Config.read(given)
    assert settings == Config(
        upload_mb=50,
        uploads_mb=100,
        most_connections=20,
        most_pages=9,
        most_calls=3,
        patience_s=5,
        hosts="Reach.example.org, *.example.net",
        proxies="10.0.0.5, 172.16.0.0/12,::1",
        most_residents=100_000,
        most_facilities=20,
        workers=0,
        worker_memory_mb=512,
        most_waiting=5,
        job_minutes=2,
        read_seconds=20,
        proof_seconds=9,
        database="postgresql://reach:secret@db/reach",
        database_password_file="/run/secrets/password",
        store_mb=500,
        store_entries=5_000,
        person_mb=50,
        person_entries=100,
        upload_days=7,
        project_days=400,
        scheduler="tcp://10.0.0.5:8786",
        datasets="/datasets",
        port=80,
        address="127.0.0.1",
        base_path="tools/reach",
        offline_maps=True,
        login=True,
    )
    assert settings.names == ["reach.example.org", "*.example.net"]
    assert settings.trusted == [
        "10.0.0.5",
        "::ffff:10.0.0.5/128",
        "172.16.0.0/12",
        "::ffff:172.16.0.0/108",
        "::1",
    ]
    assert (Config().names, Config().trusted) == ([], [])


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("EVENREACH_UPLOAD_MB", "0", "must be a whole number from 1 to 10000, not '0'."),
        ("EVENREACH_UPLOAD_MB", "1e3", "must be a whole number"),
        ("EVENREACH_UPLOAD_MB", "", "must be a whole number"),
        ("EVENREACH_MOST_RESIDENTS", "-5", "must be a whole number"),
        ("EVENREACH_WORKERS", "٣", "must be a whole number"),
        ("EVENREACH_WORKERS", "9" * 5000, "must be a whole number"),
        ("EVENREACH_LOGIN", "maybe", "must be yes or no, not 'maybe'."),
        ("EVENREACH_ADDRESS", "example.org; rm", "address the server listens on"),
        ("EVENREACH_BASE_PATH", "../x", "path under which a proxy"),
        ("EVENREACH_UPLOADS_MB", "399", "must be at least 400, twice EVENREACH_UPLOAD_MB, not 399."),
        ("EVENREACH_HOSTS", "https://reach.example.org", "names the app is reached by"),
        ("EVENREACH_HOSTS", "a.example,,b.example", "names the app is reached by"),
        ("EVENREACH_HOSTS", "reach.*.org", "names the app is reached by"),
        ("EVENREACH_SCHEDULER", "10.0.0.5", "address of the Dask scheduler"),
        ("EVENREACH_DATASETS", "datasets", "folder with Parquet files"),
        ("EVENREACH_PROXIES", "nginx", "addresses of the proxies in front"),
        ("EVENREACH_PROXIES", "*", "addresses of the proxies in front"),
        (
            "EVENREACH_PROXIES",
            "10.0.0.5, 10.0.0.999",
            "has '10.0.0.999', which is neither an address nor a network.",
        ),
        ("EVENREACH_PROXIES", "10.0.0.5/8", "has '10.0.0.5/8', which is neither"),
        ("EVENREACH_UPLOAD_SIZE", "50", "is not a setting. The settings are: EVENREACH_UPLOAD_MB,"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as refused:
        Config.read({name: value})
    assert str(refused.value).startswith(name)
    assert len(str(refused.value)) < 1000


def test_a_plain_start_asks_nothing_and_is_reached_from_this_machine_only() -> None:
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    assert (server["address"], server["showEmailPrompt"]) == ("localhost", False)
    assert server["maxUploadSize"] == Config().upload_mb


def test_compose_passes_every_setting_on_and_its_limits_fit_into_the_container() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    passed = dict(re.findall(r"^ +(EVENREACH_\w+): \$\{\1:-([\w:/.]*)\}", text, re.MULTILINE))
    # port and address are those of the container: `ports` says what the world sees
    assert sorted(passed) == sorted(set(NAMES) - {"EVENREACH_PORT", "EVENREACH_ADDRESS"})
    settings = Config.read(passed)
    usual = Config()
    own = replace(settings, workers=usual.workers, worker_memory_mb=4_096, database=usual.database)
    assert usual == own
    volume = re.search(r"^ +- \w+:(/\w+)$", text, re.MULTILINE)
    assert volume
    assert settings.database == f"sqlite:///{volume[1]}/evenreach.db"
    limit = re.search(r"mem_limit: (\d+)g", text)
    assert limit
    processes = settings.workers + READERS
    needed = 1_024 + settings.uploads_mb + processes * settings.worker_memory_mb
    assert needed <= 1_024 * int(limit[1])


def test_the_operations_page_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(EVENREACH_\w+)` \| ([^|]*) \|", page, re.MULTILINE))
    assert sorted(rows) == sorted(NAMES)
    for setting in fields(Config):
        default = rows["EVENREACH_" + setting.name.upper()].strip().strip("`")
        if setting.name == "workers":
            assert default == "cores − 1, 1 to 4"
        else:
            value = getattr(Config(), setting.name)
            words: dict[object, str] = {True: "yes", False: "no"} if isinstance(value, bool) else {"": "none"}
            said = words.get(value, str(value))
            assert default.replace(",", "") == said


def test_a_password_in_the_database_url_is_never_said() -> None:
    with pytest.raises(ConfigError) as refused:
        Config.read({"EVENREACH_DATABASE": "mysql://reach:secret@db/reach"})
    assert "postgresql://user:password@host/name" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "secret" not in repr(Config.read({"EVENREACH_DATABASE": "postgresql://reach:secret@db/reach"}))


@pytest.mark.parametrize("password", ["plain", "p@ss/w:rd %41 #?ü"])
def test_a_password_can_come_from_a_file(tmp_path: Path, password: str) -> None:
    file = tmp_path / "password"
    file.write_text(f"{password}\n", encoding="utf-8")
    given = {
        "EVENREACH_DATABASE": "postgresql://reach@db:5432/reach?sslmode=require",
        "EVENREACH_DATABASE_PASSWORD_FILE": str(file),
    }
    url = sa.make_url(Config.read(given).database_url)
    assert (url.username, url.password, url.host, url.port, url.database, dict(url.query)) == (
        "reach",
        password,
        "db",
        5432,
        "reach",
        {"sslmode": "require"},
    )
    assert password not in repr(Config.read(given))


@pytest.mark.parametrize(
    ("url", "content", "sentence"),
    [
        ("postgresql://reach@db/reach", None, "cannot be used: No such file or directory."),
        ("postgresql://reach@db/reach", b" \n", "cannot be used: it is empty."),
        ("postgresql://reach@db/reach", b"\xff\xfe", "cannot be used: it is not text."),
        ("postgresql://reach:secret@db/reach", b"x", "with a user and without a password"),
        ("sqlite:////data/evenreach.db", b"x", "with a user and without a password"),
        ("", b"x", "with a user and without a password"),
    ],
)
def test_a_password_file_that_cannot_be_used_gets_a_sentence(
    tmp_path: Path, url: str, content: bytes | None, sentence: str
) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    settings = Config(database=url, database_password_file=str(file))
    with pytest.raises(ConfigError, match=re.escape(sentence)) as refused:
        _ = settings.database_url
    assert "secret" not in str(refused.value)
