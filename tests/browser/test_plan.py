"""What a planner does on the landing page, in a real browser."""

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from benchmarks.serving import Server
from tests.browser.conftest import (
    Visit,
    close_window,
    drag,
    drawn,
    headline,
    picture,
    ready,
    settled,
    state,
)
from tests.waiting import until
from tkm_core.figures import palette
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import load_sample
from tkm_core.stories.plan_story import tell_plan
from tkm_core.wording import dial_text


def turn(page: Page, key: str, shown: str) -> None:
    """Turn the dial by a key, until the page says the new t."""
    page.locator(".st-key-t input[type=range]").focus()
    page.keyboard.press(key)
    expect(page.locator(".st-key-hero")).to_contain_text(f"dial is at t = {shown}.")
    settled(page)


def said_t(page: Page) -> str:
    """The t that the page says it shows."""
    said = re.search(r"dial is at t = ([\d.]+|∞)\.", page.locator(".st-key-hero").inner_text())
    assert said
    return said[1]


def turned_back(page: Page, t: str = "0.25") -> Page:
    """A page that another test has used, with its dial where it was at first."""
    ready(page)
    if said_t(page) != t:
        page.locator(".live-map").evaluate(
            """(node, t) => { const { plan, dial: { input } } = node.liveMap;
            input.value = String(plan.t.indexOf(t));
            for (const what of ['input', 'change']) input.dispatchEvent(new Event(what)); }""",
            t,
        )
        expect(page.locator(".st-key-hero")).to_contain_text(f"dial is at t = {t}.")
        settled(page)
    return page


def test_first_look_is_a_finished_plan_on_one_screen(visit: Visit) -> None:
    page = visit(keep=True)
    ready(page)
    expect(headline(page)).to_contain_text(re.compile(r"farthest home comes [\d.]+ km closer"))
    rows = page.locator("[data-testid=stTable] tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("Farthest home, km")
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("node => node.scrollHeight") <= 900, "the demo must fit one screen without scrolling"
    legend = page.locator(".live-map .legend").bounding_box()
    assert legend and legend["y"] + legend["height"] <= 900


def test_dial_by_keyboard_moves_figures_map_and_address(visit: Visit, plan: Plan) -> None:
    page = turned_back(visit(keep=True))

    def told(t: float) -> str:
        return "".join(part.text for part in tell_plan(plan, plan.index(t), people="homes").headline)

    before = picture(page)
    after = float(plan.t[plan.index(0.25) + 1])
    turn(page, "ArrowRight", f"{after:g}")
    assert headline(page).inner_text() == told(after)
    expect(page).to_have_url(re.compile(rf"[?&]t={re.escape(f'{after:g}')}\b"))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and np.array_equal(before, picture(page)):
        time.sleep(0.1)
    assert not np.array_equal(before, picture(page)), "the map has to follow the dial"
    turn(page, "Home", "0")
    assert headline(page).inner_text() == told(0)
    expect(page.locator("[data-testid=stTable]")).to_contain_text("Average distance")


def test_map_view_stays_put_while_the_dial_moves(visit: Visit) -> None:
    page = turned_back(visit(keep=True))
    shown = page.locator(".live-map")
    first = shown.evaluate("node => node.liveMap.state().view")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(".live-map .scale")).to_have_text("10 km")
    zoomed = shown.evaluate("node => node.liveMap.state().view")
    assert zoomed["zoom"] == pytest.approx(first["zoom"] + 1)
    turn(page, "Home", "0")
    assert shown.evaluate("node => node.liveMap.state().view") == zoomed
    page.get_by_role("button", name="Reset view").click()
    assert shown.evaluate("node => node.liveMap.state().view.zoom") == pytest.approx(first["zoom"])


def test_click_on_the_curve_sets_the_dial(visit: Visit, plan: Plan) -> None:
    page = turned_back(visit(keep=True))
    points = page.locator(".st-key-tradeoff .scatterlayer .trace .points path.point")
    assert points.count() > len(plan), "one mark a setting, and some beside them"
    page.locator(".st-key-tradeoff .nsewdrag").wait_for()
    target = points.nth(len(plan) - 1).bounding_box()
    assert target
    page.mouse.move(target["x"] + 4, target["y"] + 4)
    time.sleep(0.3)
    page.mouse.click(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2)
    expect(page.locator(".st-key-hero")).not_to_contain_text("dial is at t = 0.25.")
    settled(page)
    assert said_t(page) == "∞"


MILES = "/?t=5&budget=5&colour=distance&units=mi&show=areas"


def test_budget_and_suggestion_set_the_dial(visit: Visit) -> None:
    page = turned_back(visit(MILES, keep=True), "5")
    page.get_by_role("button", name="Fairest within").click()
    expect(page.locator(".st-key-hero")).to_contain_text("within the 5 % you accept")
    settled(page)
    at_budget = page.url
    page.get_by_role("button", name="Suggest").click()
    expect(page.locator(".st-key-hero")).to_contain_text("% you accept")
    settled(page)
    assert page.url != at_budget


@pytest.mark.nightly
def test_play_turns_everything_together_and_can_be_paused_in_a_slow_browser(visit: Visit, plan: Plan) -> None:
    page = visit("/?t=0")
    ready(page)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.get_by_role("button", name="Play").click()
    seen = {}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(seen) < 4:
        t, said, dial = page.locator(".live-map").evaluate(
            """node => [node.liveMap.state().t, document.querySelector('.sentence h1').textContent,
            node.liveMap.dial.input.getAttribute('aria-valuetext')]"""
        )
        seen[t] = said, dial
        time.sleep(0.2)
    assert len(seen) >= 4, f"the dial should run, seen only {sorted(seen)}"
    for t, (said, dial) in seen.items():  # the sentence, the dial and the map of one moment
        story = tell_plan(plan, plan.index(float(t)), people="homes", standard=10_000)
        assert said == story.headline_text and dial.startswith(f"t = {t}, farthest home")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    resting = page.locator(".live-map .shown").inner_text()
    expect(page.locator(".st-key-hero")).to_contain_text(f"dial is at {resting}.")
    if resting != "t = 0.25":  # that goes without saying
        expect(page).to_have_url(re.compile(rf"[?&]t={re.escape(resting.removeprefix('t = '))}\b"))
    settled(page)
    assert page.locator(".live-map .shown").inner_text() == resting
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Suggest").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    knee = f"t = {plan.t[plan.knee()]:g}"
    expect(page.locator(".live-map .shown")).to_have_text(knee)
    expect(page.locator(".st-key-hero")).to_contain_text(f"dial is at {knee}.")


def test_colours_units_and_layers(visit: Visit) -> None:
    page = visit(MILES, keep=True)
    ready(page)
    expect(page.locator(".live-map .legend")).to_contain_text("distance, 0 to")
    expect(page.locator(".live-map .legend")).not_to_contain_text("lowest-average plan")
    expect(headline(page)).to_contain_text("miles")
    before = picture(page)
    page.locator(".st-key-colour").get_by_role("combobox").click()
    page.get_by_role("option", name="Gain or loss").click()
    expect(page.locator(".live-map .legend")).to_contain_text("closer than in the lowest-average plan")
    settled(page)
    expect(page).to_have_url(re.compile("colour=change"))
    time.sleep(1)
    assert not np.array_equal(before, picture(page))
    page.close()  # it has other colours now


@pytest.mark.nightly
def test_no_network_for_tiles_still_draws(visit: Visit) -> None:
    page = visit()
    ready(page)
    assert len(np.unique(drawn(page).reshape(-1, 3), axis=0)) > 100


def test_phone_shows_sentence_dial_and_map_first(visit: Visit) -> None:
    page = visit(width=390, height=844)
    ready(page)
    tops = [
        page.locator(where).first.bounding_box()["y"]  # type: ignore[index]
        for where in (
            ".st-key-hero",
            ".st-key-t",
            ".live-map .map",
            "[data-testid=stTable]",
            ".st-key-tradeoff",
        )
    ]
    assert tops == sorted(tops)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390


@pytest.mark.nightly
def test_downloads_open_again(visit: Visit, tmp_path) -> None:
    page = visit("/?k=4&t=1")
    ready(page)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Report").click()
    report = tmp_path / "report.html"
    saved.value.save_as(report)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Facilities", exact=True).click()
    sites = json.loads(saved.value.path().read_text())
    assert len(sites["features"]) == 4
    with page.expect_download() as saved:
        page.get_by_role("button", name="Plan file without data").click()
    plan_file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(plan_file)
    close_window(page)
    page.get_by_role("link", name="Data").click()
    expect(page.get_by_role("heading", name="Where people live")).to_be_visible()
    page.locator(".st-key-plan_file input[type=file]").set_input_files(plan_file)
    expect(page.get_by_text("it is the same plan")).to_be_visible()
    page.get_by_role("button", name="Show this plan").click()
    expect(page.locator(".st-key-hero")).to_contain_text("4 facilities for 932 homes, compared with")
    offline = page.context.browser.new_context(offline=True).new_page()  # type: ignore[union-attr]
    offline.goto(report.as_uri())
    expect(offline.locator("h1")).to_contain_text("4 facilities")
    expect(offline.locator(".lead")).to_contain_text("The farthest home")
    expect(offline.locator("svg")).to_have_count(3)
    offline.context.close()


@contextlib.contextmanager
def held(server: Server) -> Iterator[None]:
    """Let the workers stand still meanwhile, so that no work is done before it is stopped."""
    until(lambda: len(server.workers()) > 0)
    workers = server.workers()
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    yield
    for worker in set(workers) & set(server.workers()):
        os.kill(worker, signal.SIGCONT)


def ask_for(page: Page, k: int) -> None:
    page.locator(".st-key-k input").fill(str(k))
    page.locator(".st-key-k input").press("Enter")


@pytest.mark.nightly
def test_long_work_can_be_stopped_and_carried_on(visit: Visit, server: Server) -> None:
    page = visit("/?dataset=generated-3k&k=2")
    ready(page)
    with held(server):
        ask_for(page, 20)
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped: Placing 20 facilities for Generated city, 3,000.")).to_be_visible()
    settled(page)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(headline(page)).to_have_count(0)
    page.get_by_role("button", name="Carry on").click()
    ready(page)
    expect(page.locator(".st-key-hero")).to_contain_text("20 facilities for 3,000 residents")
    expect(page.get_by_text("Stopped:")).to_have_count(0)
    with held(server):
        ask_for(page, 21)
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped:")).to_be_visible()
    ask_for(page, 3)  # the way is free for another plan
    ready(page)
    expect(page.locator(".st-key-hero")).to_contain_text("3 facilities for 3,000 residents")


def test_dial_sentence_table_and_charts_agree_at_every_frame_of_play(visit: Visit) -> None:
    page = turned_back(visit("/?k=4&t=0", keep=True), "0")
    expect(page.locator(".st-key-tradeoff .annotation-text").filter(has_text="t = 0")).to_be_visible()
    page.wait_for_function("() => globalThis.Plotly")
    page.get_by_role("button", name="Play").click()
    watched = """async (node) => { const frames = [], seen = new Set(), end = performance.now() + 20000;
      while (seen.size < 8 && performance.now() < end) {
        await new Promise(requestAnimationFrame);
        seen.add(node.liveMap.state().t);
        const text = (where) => [...document.querySelectorAll(where)].map((one) => one.textContent);
        const t = (words) => words.match(/t = ([\\d.e+∞]*[\\d∞])/)?.[1];
        const told = text('.sentence')[0];
        frames.push([node.liveMap.state().t, t(told),
          t(text('.st-key-tradeoff .annotation-text').find((words) => words.includes('this plan')) ?? ''),
          text('.st-key-key_figures tbody tr')[0], text('.st-key-distances .annotation-text').join(' '),
          getComputedStyle(document.querySelector('.st-key-key_figures tbody tr td:last-child span')).color
            !== getComputedStyle(document.querySelector('.st-key-key_figures tbody tr td')).color]);
      } return frames; }"""
    frames = page.locator(".live-map").evaluate(watched)
    assert len({frame[0] for frame in frames}) > 5, "it played"
    assert all(frame[5] for frame in frames), (
        "the change keeps its colour, which the table does not have by itself"
    )
    plan = make_plan(load_sample("sacramento"), 4, with_t=0.25)  # a stop of every plan in the app
    for _, sentence, chart, row, near, _ in frames:
        assert sentence == chart
        i = next(n for n, t in enumerate(plan.t) if dial_text(t) == sentence)
        farthest = f"{plan.curve.largest_distance[i] / 1000:.1f}"
        assert farthest in row and farthest in near, sentence


def test_a_hand_turns_the_dial_and_the_charts_follow_without_the_server(visit: Visit) -> None:
    page = turned_back(visit("/?k=4&t=0", keep=True), "0")
    page.wait_for_function("() => globalThis.Plotly")
    plan = make_plan(load_sample("sacramento"), 4, with_t=0.25)
    farthest = [f"{far / 1000:.1f}" for far in plan.curve.largest_distance]
    turned = page.locator(".live-map").evaluate(
        """async (node, last) => { const view = node.liveMap, { input } = view.dial;
        view.tell = () => {};  // nobody hears
        const text = (where) => [...document.querySelectorAll(where)].map((one) => one.textContent).join(' ');
        const chart = () => text('.st-key-tradeoff .annotation-text').match(/this plan, t = (\\S+)/)[1];
        const frames = [], begun = chart();
        let drawn = 0; const update = Plotly.update;
        Plotly.update = (...given) => { drawn += 1; return update(...given); };
        for (let at = 1; at < view.plan.t.length; at++) {
          let before; requestAnimationFrame(() => (before = drawn));  // the frame begins, then the map is painted
          input.value = String(at); input.dispatchEvent(new Event('input'));
          await new Promise(requestAnimationFrame);
          frames.push([view.plan.t[at], text('.sentence'), text('.st-key-key_figures tbody tr'), drawn - before]);
        }
        const end = performance.now() + 20000;
        const near = () => text('.st-key-distances .annotation-text');  // each chart is drawn when it can be
        while (!(chart() === view.plan.t.at(-1) && near().includes(last)) && performance.now() < end)
          await new Promise((done) => setTimeout(done, 20));
        delete view.tell; Plotly.update = update;
        return { frames, begun, chart: chart(), near: near() }; }""",
        farthest[-1],
    )
    assert turned["begun"] == "0" and turned["chart"] == "∞" and farthest[-1] in turned["near"]
    for (t, sentence, table, charts), far in zip(turned["frames"], farthest[1:], strict=True):
        assert f"t = {t}" in sentence and far in table, t
        assert charts == 0, "a chart takes Plotly longer than a frame: the map does not wait for it"


def test_the_whole_page_follows_a_change_of_theme_and_a_drag_goes_on(visit: Visit) -> None:
    page = turned_back(visit("/?k=4&t=0", keep=True), "0")
    drag(page, 1, (50, 20), drop=False)
    lifted = state(page)["trial"]["lonlat"]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "ink => document.querySelector('.st-key-tradeoff .js-plotly-plot')?.layout?.font.color === ink",
        arg=palette("dark").ink,
    )
    assert state(page)["trial"]["lonlat"] == lifted
    page.mouse.up()
    expect(page.locator(".live-map .card table")).to_be_visible()
    assert state(page)["trial"]["lonlat"] == lifted
    page.close()  # it is dark now
