"""Two servers at once: sharing and withdrawing, owners who end each other's access, a database killed in mid-write."""

import os
import threading
from collections.abc import Callable

from pages.serving.store import Actor, DeniedError, Store, StoreError
from tests.serving import postgres
from tests.serving.store.conftest import ANN, BEN, NewUrl, saved
from tests.waiting import until

ROUNDS = 8


def at_once(*deeds: Callable[[], object]) -> list[object]:
    """What each of several deeds brings, done at the same moment."""
    gate, told = threading.Barrier(len(deeds)), dict[int, object]()

    def run(number: int, deed: Callable[[], object]) -> None:
        gate.wait()
        try:
            told[number] = deed()
        except StoreError as problem:
            told[number] = problem

    threads = [threading.Thread(target=run, args=one) for one in enumerate(deeds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [told[number] for number in range(len(deeds))]


def test_two_owners_who_end_each_others_access_leave_one_owner(new_url: NewUrl) -> None:
    url = new_url()
    one, two = Store(url), Store(url)
    for _ in range(ROUNDS):
        project = saved(one).project_id
        one.set_member(ANN, project, BEN.person, "owner")
        at_once(
            lambda project=project: one.end_membership(ANN, project, BEN.person),
            lambda project=project: two.end_membership(BEN, project, ANN.person),
        )
        owners = [actor for actor in (ANN, BEN) if project in {found.id for found in one.projects_of(actor)}]
        assert len(owners) == 1
        one.delete_project(owners[0], project)
    one.close()
    two.close()


def test_whoever_is_withdrawn_makes_no_link_afterwards(new_url: NewUrl) -> None:
    """A link is either made before, and then its owner sees it in the list, or not at all."""
    url = new_url()
    one, two = Store(url), Store(url)
    project = saved(one).project_id
    for _ in range(ROUNDS):
        share, secret = one.share(ANN, project, "owner")
        holder = Actor(keys=(secret,))
        _, made = at_once(
            lambda share=share: one.revoke(ANN, project, share.id),
            lambda holder=holder: two.share(holder, project, "owner"),
        )
        left = one.shares_of(ANN, project)
        if isinstance(made, StoreError):
            assert isinstance(made, DeniedError) and left == []
        else:
            assert [found.id for found in left] == [made[0].id]  # type: ignore[index]
            order = [event.what for event in one.history(ANN, project, 2)]
            assert order == ["withdrew a link", "made a link"], "it was made first"
            one.revoke(ANN, project, left[0].id)
    one.close()
    two.close()


def test_what_was_acknowledged_is_whole_after_the_database_was_killed_in_mid_write() -> None:
    if "postgresql" not in postgres.BACKENDS:  # SQLite is killed with its server, in test_faults.py
        return
    with postgres.running() as server:
        store = Store(server.new("kept"))
        known: dict[str, bytes] = {}
        end = threading.Event()

        def write() -> None:
            while not end.is_set():
                content = os.urandom(3_000_000)
                try:
                    known[store.add_dataset(ANN, "residents", content).token] = content
                except StoreError:
                    end.wait(0.05)

        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: len(known) >= 2)
        server.kill()
        until(lambda: store.state() == "away")
        server.start()
        before = len(known)
        until(lambda: len(known) > before)
        end.set()
        writer.join()
        for token, content in known.items():
            assert store.content(ANN, token) == content
        with store.database.reading() as connection:
            count = connection.exec_driver_sql("select count(*) from dataset").scalar()
            half = connection.exec_driver_sql(
                "select count(*) from blob where hash not in (select hash from dataset)"
            ).scalar()
        assert half == 0 and 0 <= count - len(known) <= 1, "one may have been kept without an answer"
        store.close()
