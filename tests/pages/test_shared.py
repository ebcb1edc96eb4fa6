"""The frame: the cache, and the address."""

import threading
import time
from types import SimpleNamespace

import pytest
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.testing.v1 import AppTest

from pages.serving.cache import Cache, caches
from pages.session import address, background_work
from pages.session.markdown import JOINER, escaped
from pages.session.state import Visit
from pages.widgets import downloads


def test_a_cache_forgets_the_longest_unused() -> None:
    cache: Cache[int] = Cache(room=3)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("c", 3)
    cache.get("a")
    cache.put("d", 4)
    assert cache.get("b") is None
    assert [cache.get(key) for key in "acd"] == [1, 3, 4]


def test_a_cache_always_keeps_the_last_however_heavy() -> None:
    cache: Cache[str] = Cache(room=1)
    cache.put("small", "x")
    cache.put("huge", "y", weight=100)
    assert cache.get("huge") == "y"
    assert cache.get("small") is None


def test_a_cache_forgets_after_its_hours() -> None:
    now = [0.0]
    cache: Cache[int] = Cache(room=9, hours=1, clock=lambda: now[0])
    cache.put("a", 1)
    now[0] = 3599
    assert cache.get("a") == 1
    now[0] = 3599 + 3601
    assert cache.get("a") is None


def test_a_cache_forgets_after_its_hours_though_nobody_asks() -> None:
    now = [0.0]
    cache: Cache[int] = Cache(room=9, hours=1, clock=lambda: now[0])
    cache.put("a", 1)
    now[0] = 3601
    cache.tidy()
    assert not cache._kept


def test_a_removed_upload_takes_all_that_was_made_of_it_along() -> None:
    kept, token = caches(), "token-of-an-upload-to-be-removed"
    keys = {"uploads": token, "plans": (token, "f", 6, 0), "results": ("radius", token, "f", 6)}
    keys |= {
        "figures": ((token, "f", 6, 0), ("map", 3)),
        "files": (token, "f", b"", 3, "allocations", "csv"),
    }
    for name, key in keys.items():
        getattr(kept, name).put(key, SimpleNamespace(key=token, home="", project=None, saved=None))
    opened = "token-of-a-plan-opened-for-that-upload"
    kept.uploads.put(opened, SimpleNamespace(key=opened, home=token))
    kept.figures.put(((opened, "f", 6, 0), ("map", 3)), b"x")
    kept.plans.put(("sacramento", "f", 6, 0), b"x")

    def remove() -> None:
        from pages.session import address, cities

        address.put("upload", "token-of-an-upload-to-be-removed")
        cities.forget_upload()

    guest = AppTest.from_function(remove).run()
    assert not guest.exception
    for name, key in keys.items():
        assert getattr(kept, name).get(key) is not None, f"{name}: only who brought it may remove it"
    owner = AppTest.from_function(remove)
    owner.session_state["visit"] = Visit(own={token})
    assert not owner.run().exception
    for name, key in keys.items():
        assert getattr(kept, name).get(key) is None, name
    assert kept.uploads.get(opened) is None, "its residents are the same"
    assert kept.figures.get(((opened, "f", 6, 0), ("map", 3))) is None
    assert kept.plans.get(("sacramento", "f", 6, 0)) == b"x"
    kept.plans.remove(("sacramento", "f", 6, 0))


def test_a_cache_makes_a_thing_once_for_all_who_ask() -> None:
    cache: Cache[int] = Cache(room=9)
    made, waited, found = [], [], []

    def make() -> int:
        time.sleep(0.4)
        made.append(1)
        return 7

    threads = [
        threading.Thread(target=lambda: found.append(cache.once("a", make, lambda: waited.append(1))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 4
    assert len(made) == 1
    assert waited


def test_a_cache_survives_work_that_was_stopped() -> None:
    cache: Cache[int] = Cache(room=9)

    def stopped() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.once("a", stopped, lambda: None)
    assert cache.once("a", lambda: 3, lambda: None) == 3


def test_text_from_outside_is_harmless_in_markdown() -> None:
    assert escaped("a*b [link](x) <b>") == r"a\*b \[link\](x) \<b\>"
    assert escaped(":red[no]").replace(JOINER, "^") == r"\:^red\[no\]"
    assert escaped("https://e.example").replace(JOINER, "^") == r"https\:^//e.example"
    assert escaped("a@e.example _www.e.example").replace(JOINER, "^") == r"a@^e.example \_www^.e.example"
    assert escaped("&lt;b&gt; $x$") == r"\&lt;b\&gt; \$x\$"
    assert escaped("a\n\n# b\u2028c\td") == r"a \# b c d"
    assert [escaped(text) for text in ("- x", "+ x", "12. x", "3) x")] == [
        "\\- x",
        "\\+ x",
        "12\\. x",
        "3\\) x",
    ]
    assert escaped("gnp\u202e.exe") == "gnp.exe"
    assert escaped("Within 10 km: 5 of 6, +3.1 %") == "Within 10 km: 5 of 6, +3.1 %"


def test_whatever_goes_wrong_is_a_sentence_on_screen() -> None:
    def broken() -> None:
        from pages.widgets.errors import show_problems

        def draw() -> None:
            msg = "/secret/path"
            raise KeyError(msg)

        show_problems(draw)()

    app = AppTest.from_function(broken).run()
    assert not app.exception
    assert "should not have" in app.error[0].value
    assert "secret" not in app.error[0].value


@pytest.mark.parametrize(("base", "shared"), [("", "/?k=5"), ("tools/reach", "/tools/reach/?k=5")])
def test_a_shared_link_leads_to_the_path_that_a_proxy_serves(
    monkeypatch: pytest.MonkeyPatch, base: str, shared: str
) -> None:
    here = SimpleNamespace(url=f"https://city.example/{base}/compare?k=9")
    monkeypatch.setattr(
        address, "st", SimpleNamespace(context=here, get_option={"server.baseUrlPath": base}.get)
    )
    monkeypatch.setattr(address, "query", lambda: {"k": "5"})
    assert address.link() == f"https://city.example{shared}"


def test_a_cache_weighs_what_was_made() -> None:
    cache: Cache[str] = Cache(room=5)
    for key in ("aaa", "bb"):
        cache.once(key, lambda key=key: key, lambda: None, len)
    assert cache.get("aaa") == "aaa"
    cache.once("c", lambda: "c", lambda: None, len)
    assert cache.get("bb") is None, "the longest unused went, since six do not fit"


def test_two_downloads_that_differ_in_one_byte_have_two_addresses() -> None:
    assert downloads, "where it is seen to"
    storage = MemoryMediaFileStorage("/media")
    mine = bytes(3_000_000)
    ids = set()
    for at in (None, 100_000, 1_000_000, 2_800_000):  # between what Streamlit would look at
        content = bytearray(mine)
        if at is not None:
            content[at] = 1
        name = storage.load_and_get_id(
            bytes(content), "text/csv", MediaFileKind.DOWNLOADABLE, "town-allocations.csv"
        )
        assert storage.get_file(name).content == content, "nobody is handed another's file"
        ids.add(name)
    assert len(ids) == 4


def test_two_long_works_on_one_page_get_a_bar_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def page() -> None:
        from pages.serving.cache import Cache
        from pages.session import background_work, long_work

        background_work.PATIENCE = 0.0
        for label in ("One", "Two"):

            def work(progress, label=label):  # type: ignore[no-untyped-def]
                progress(0.5, "halfway")
                return label

            long_work.result(Cache(10), ("a test", label), label, work)

    monkeypatch.setattr(background_work, "PATIENCE", background_work.PATIENCE)
    app = AppTest.from_function(page).run()
    assert not app.exception, app.exception
