"""Settings: every bad one is refused with a sentence, and every one is documented."""

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tkm_core.config import Config, ConfigError
from tkm_core.jobs.tasks import READERS

ROOT = Path(__file__).parents[2]
NAMES = ["EVENREACH_" + setting.name.upper() for setting in fields(Config)]


def test_nothing_set_is_fine() -> None:
    assert Config.read({"PATH": "/bin", "STREAMLIT_X": "y"}) == Config()


def test_every_setting_can_be_set() -> None:
    given = {
        "EVENREACH_UPLOAD_MB": "50",
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
    }
    assert sorted(given) == sorted(NAMES)
    assert Config.read(given) == Config(
        50,
        100_000,
        20,
        0,
        512,
        5,
        2,
        80,
        "127.0.0.1",
        "tools/reach",
        offline_maps=True,
        login=True,
        read_seconds=20,
    )


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
        ("EVENREACH_UPLOAD_SIZE", "50", "is not a setting. There are: EVENREACH_UPLOAD_MB,"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as refused:
        Config.read({name: value})
    assert str(refused.value).startswith(name)
    assert len(str(refused.value)) < 500


def test_a_plain_start_asks_nothing_and_is_reached_from_this_machine_only() -> None:
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    assert (server["address"], server["showEmailPrompt"]) == ("localhost", False)
    assert server["maxUploadSize"] == Config().upload_mb


def test_compose_passes_every_setting_on_and_its_limits_fit_into_the_container() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    passed = dict(re.findall(r"^ +(EVENREACH_\w+): \$\{\1:-(\w*)\}", text, re.MULTILINE))
    # port and address are those of the container: `ports` says what the world sees
    assert sorted(passed) == sorted(set(NAMES) - {"EVENREACH_PORT", "EVENREACH_ADDRESS"})
    settings = Config.read(passed)
    assert Config.read({}) == replace(settings, workers=Config().workers, worker_memory_mb=4_096)
    limit = re.search(r"mem_limit: (\d+)g", text)
    assert limit
    processes = settings.workers + READERS
    assert 1_024 + processes * settings.worker_memory_mb <= 1_024 * int(limit[1])


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
            said = {True: "yes", False: "no", "": "none"}.get(value, str(value))
            assert default.replace(",", "") == said
