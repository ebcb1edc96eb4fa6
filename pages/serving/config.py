"""The server's settings, from environment variables: read once, and checked."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

PREFIX = "EVENREACH_"
HOST = r"(\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)"  # *.example.org: every name below; *: any name
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class ConfigError(ValueError):
    """An invalid setting, with the sentence for whoever runs the server."""


def _workers() -> int:
    """Leave a core to the pages; Windows cannot pass a connection to a worker, so work stays in the server there."""
    return 0 if os.name == "nt" else max(1, min(4, (os.cpu_count() or 2) - 1))


def _setting(
    default: Any, about: str, low: int = 0, high: int = 0, pattern: str = "", *, secret: bool = False
) -> Any:
    meaning = {"about": about, "low": low, "high": high, "pattern": pattern, "secret": secret}
    if secret:
        return field(default=default, metadata=meaning, repr=False)
    if callable(default):
        return field(default_factory=default, metadata=meaning)
    return field(default=default, metadata=meaning)


@dataclass(frozen=True)
class Config:
    """The settings; each is read from the variable of its name, as in EVENREACH_UPLOAD_MB.

    Examples
    --------
    >>> Config.read({"EVENREACH_UPLOAD_MB": "50", "EVENREACH_LOGIN": "yes"}).upload_mb
    50
    >>> Config.read({"EVENREACH_WORKERS": "many"})
    Traceback (most recent call last):
    ...
    pages.serving.config.ConfigError: EVENREACH_WORKERS must be a whole number from 0 to 64, not 'many'.
    """

    upload_mb: int = _setting(200, "largest file that can be uploaded, in megabytes", 1, 10_000)
    uploads_mb: int = _setting(
        1_000,
        "room for all uploaded files together, in megabytes, at least twice EVENREACH_UPLOAD_MB",
        2,
        100_000,
    )
    most_connections: int = _setting(
        200, "requests and open pages one address may have at a time; more are turned away", 10, 100_000
    )
    most_pages: int = _setting(60, "pages one address may have open at a time", 1, 10_000)
    most_calls: int = _setting(
        16, "calls of the HTTP API one address may have at a time; one person half of them", 1, 64
    )
    patience_s: int = _setting(
        30, "seconds the server waits for a request that stalls, or a visitor whose connection broke", 1, 600
    )
    hosts: str = _setting(
        "",
        "names the app is reached by, as in reach.example.org, with commas between them",
        pattern=rf"({HOST}(\s*,\s*{HOST})*)?",
    )
    proxies: str = _setting(
        "",
        "addresses of the proxies in front, as in 10.0.0.5 or 172.16.0.0/12, with commas between them",
        pattern=r"([0-9a-fA-F.:]+(/\d+)?(\s*,\s*[0-9a-fA-F.:]+(/\d+)?)*)?",
    )
    most_residents: int = _setting(5_000_000, "most residents a plan is made for", 100, 20_000_000)
    most_facilities: int = _setting(60, "largest number of facilities, k", 1, 1_000)
    workers: int = _setting(
        _workers, "processes for planning; 0: none, plans are made in the server itself", 0, 64
    )
    worker_memory_mb: int = _setting(
        4_096, "memory a worker may use, in megabytes; 0: no limit of its own", 0, 1_000_000
    )
    most_waiting: int = _setting(
        100, "jobs that may wait in line, half of them from one address; more are turned away", 1, 10_000
    )
    job_minutes: int = _setting(30, "longest time one job may take", 1, 1_440)
    proof_seconds: int = _setting(
        30, "seconds spent in the background on proving how good a plan on sites is; 0: none", 0, 600
    )
    port: int = _setting(8501, "port the server listens on", 1, 65_535)
    address: str = _setting(
        "0.0.0.0",  # noqa: S104  within a container; a proxy decides who reaches it
        "address the server listens on, as numbers",
        pattern=r"[0-9a-fA-F.:]{2,45}",
    )
    base_path: str = _setting(
        "", "path under which a proxy serves the app, as in tools/reach", pattern=r"[A-Za-z0-9_/-]{0,200}"
    )
    offline_maps: bool = _setting(default=False, about="no street map: nothing is loaded from outside")
    login: bool = _setting(default=False, about="people sign in (OIDC) before they see anything")
    read_seconds: int = _setting(60, "longest time reading one file may take", 1, 3_600)
    database: str = _setting(
        "",
        "database that keeps projects, as in sqlite:////data/evenreach.db or postgresql://user:password@host/name",
        pattern=r"((sqlite:///|postgresql(\+psycopg)?://)\S+)?",
        secret=True,
    )
    database_password_file: str = _setting(
        "",
        "file with the password for EVENREACH_DATABASE, as in /run/secrets/database_password",
        pattern=r"(/[^\0]{1,400}|[A-Za-z]:[\\/][^\0]{1,400})?",
        secret=True,
    )
    store_mb: int = _setting(10_000, "room for everything in the database, in megabytes", 1, 10_000_000)
    store_entries: int = _setting(
        200_000, "most data sets, projects, scenarios and lines of history in the database", 10, 100_000_000
    )
    person_mb: int = _setting(
        1_000,
        "room in the database for one person, or for one address if nobody signs in, in megabytes",
        1,
        10_000_000,
    )
    person_entries: int = _setting(
        5_000, "most such entries of one person, or of one address if nobody signs in", 10, 100_000_000
    )
    upload_days: int = _setting(
        30, "days that uploads outside projects are kept after their last use", 1, 3_650
    )
    project_days: int = _setting(
        0, "days that projects are kept after their last change; 0: until somebody deletes them", 0, 36_500
    )

    scheduler: str = _setting(
        "",
        "address of the Dask scheduler that passes over large data sets, as in tcp://10.0.0.5:8786",
        pattern=r"((tcp|tls|ucx)://[A-Za-z0-9_.:\[\]-]+)?",
    )
    datasets: str = _setting(
        "",
        "folder with Parquet files that are offered as data sets of this server, as in /datasets",
        pattern=r"(/[^\0]{1,400}|[A-Za-z]:[\\/][^\0]{1,400})?",
    )

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Config":
        """Read and check the settings.

        Parameters
        ----------
        environment : mapping
            As ``os.environ``; what does not begin with EVENREACH_ is ignored.

        Raises
        ------
        ConfigError
            If a value is invalid, or no setting has that name: a misspelt limit would be no limit.
        """
        usual = cls()
        known = {PREFIX + setting.name.upper(): setting for setting in fields(cls)}
        given = {name: text for name, text in environment.items() if name.startswith(PREFIX)}
        for name in sorted(given):
            if name not in known:
                msg = f"{name} is not a setting. The settings are: {', '.join(known)}."
                raise ConfigError(msg)
        found: dict[str, Any] = {}
        for name, text in given.items():
            setting = known[name]
            read = {bool: _yes_or_no, int: _whole, str: _plain}[type(getattr(usual, setting.name))]
            found[setting.name] = read(name, text.strip(), setting.metadata)
        settings = cls(**found)
        if settings.uploads_mb < 2 * settings.upload_mb:
            msg = (
                f"EVENREACH_UPLOADS_MB must be at least {2 * settings.upload_mb}, twice EVENREACH_UPLOAD_MB, "
                f"not {settings.uploads_mb}."
            )
            raise ConfigError(msg)
        for text in map(str.strip, filter(None, settings.proxies.split(","))):
            try:
                ip_network(text)
            except ValueError as problem:
                msg = f"EVENREACH_PROXIES has {text[:50]!r}, which is neither an address nor a network."
                raise ConfigError(msg) from problem
        return settings

    @property
    def database_url(self) -> str:
        """The database with its password, wherever that is.

        Raises
        ------
        ConfigError
            If the file with the password cannot be read or is empty, or there is already one in the URL.
        """
        if not self.database_password_file:
            return self.database
        url = urlsplit(self.database)
        if not url.username or url.password is not None:
            msg = (
                "EVENREACH_DATABASE_PASSWORD_FILE needs an EVENREACH_DATABASE with a user and without a password, "
                "as in postgresql://user@host/name."
            )
            raise ConfigError(msg)
        try:
            password = Path(self.database_password_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            password, why = "", getattr(problem, "strerror", None) or "it is not text"
        else:
            why = "it is empty"
        if not password:
            msg = f"EVENREACH_DATABASE_PASSWORD_FILE, {self.database_password_file}, cannot be used: {why}."
            raise ConfigError(msg)
        user, _, rest = url.netloc.rpartition("@")
        return url._replace(netloc=f"{user}:{quote(password, safe='')}@{rest}").geturl()

    @property
    def trusted(self) -> list[str]:
        """The proxies whose word on who asks is taken: addresses and networks.

        >>> Config(proxies="10.0.0.5, 172.16.0.0/12").trusted
        ['10.0.0.5', '::ffff:10.0.0.5/128', '172.16.0.0/12', '::ffff:172.16.0.0/108']
        """
        return [form for text in self.proxies.split(",") if text for form in _forms(text.strip())]

    @property
    def names(self) -> list[str]:
        """The names the app is reached by, in lower case."""
        return [text.strip().lower() for text in self.hosts.split(",") if text]


def _forms(text: str) -> tuple[str, ...]:
    """A network as it is written, and as a server that also listens to IPv6 sees it."""
    network = ip_network(text)
    if network.version == 6:
        return (text,)
    return text, f"::ffff:{network.network_address}/{96 + network.prefixlen}"


def _whole(name: str, text: str, meaning: Mapping[str, Any]) -> int:
    low, high = meaning["low"], meaning["high"]
    plain = text.isascii() and text.isdigit() and len(text) < 12
    if not plain or not low <= int(text) <= high:
        msg = f"{name} must be a whole number from {low} to {high}, not {text[:40]!r}."
        raise ConfigError(msg)
    return int(text)


def _yes_or_no(name: str, text: str, _meaning: Mapping[str, Any]) -> bool:
    if text.lower() not in (*YES, *NO):
        msg = f"{name} must be yes or no, not {text[:40]!r}."
        raise ConfigError(msg)
    return text.lower() in YES


def _plain(name: str, text: str, meaning: Mapping[str, Any]) -> str:
    if not re.fullmatch(meaning["pattern"], text):
        instead = "" if meaning["secret"] else f", not {text[:40]!r}"
        msg = f"{name} must be the {meaning['about']}{instead}."
        raise ConfigError(msg)
    return text


@cache
def config() -> Config:
    """The settings of this process."""
    return Config.read(os.environ)
