"""Every sentence that a story may say, each with the truth it has to agree with; any other sentence is a failure."""

import math
import re

import pytest

from tests.truth.recomputed import METRES, Truth, farthest_corner, recomputed, reference_spots, widest_area

LENGTH = r"(?P<{0}>[\d,]+(?:\.\d+)?) (?P<{0}_unit>km|m|miles?|minutes?|mi|min|seconds)"
UNITS = {"km": 1000.0, "m": 1.0, "mile": 1609.344, "miles": 1609.344, "mi": 1609.344, "minute": 1.0, "minutes": 1.0,
         "min": 1.0, "seconds": 1 / 60}  # fmt: skip
CROWD = r"(?P<crowd>every home|over 99 % of homes|under 1 % of homes|\d+ % of homes|[\d,]+ homes?)"
ONE = r"(?:[Tt]he only home|[Tt]he farthest (?:home|area, measured at one point inside it,))"
THAN = r"(?P<than>today|in .+?)"
INSIDE = "The people of an area are counted at one point inside it"
NOTHING = {"m": 1.0, "min": 1 / 60}


def far(name):
    return LENGTH.format(name)


class Sentences:
    """The claims of one story, checked against the truth; `step` is half of its last digit, in metres or minutes."""

    def __init__(self, truth: Truth, unit: str, decimals: int) -> None:
        self.truth, self.unit = truth, unit
        self.step = 0.5 * 10.0**-decimals * METRES[unit]
        self.after, self.before = truth.figures

    def near(self, said: float, true: float, steps: float = 1.0) -> None:
        assert abs(said - true) <= steps * self.step * 1.0001 + 1e-6 * abs(true), (
            f"{said} is said, {true} is true"
        )

    def value(self, match: re.Match, name: str) -> float:
        return float(match[name].replace(",", "")) * UNITS[match[f"{name}_unit"]]

    def people(self, said: str, count: float) -> None:
        share = count / self.truth.people
        if said == "every home":
            assert share > 1 - 1e-9
        elif said.startswith("over"):
            assert 0.995 - 1e-9 <= share < 1
        elif said.startswith("under"):
            assert 0 < count < 0.5 + 1e-9 and share < 0.01
        elif "%" in said:
            assert float(said.split()[0]) == pytest.approx(100 * share, abs=0.5 + 1e-6)
        else:
            assert int(said.split()[0].replace(",", "")) == pytest.approx(count, abs=0.5 + 1e-6)

    def headline(self, text: str) -> None:
        if text.startswith("Nothing changes"):
            most = max((abs(one.gain) for one in self.truth.changes), default=0.0)
            assert most <= (self.step if "noticeably" in text else NOTHING[self.truth.case.unit]) + 1e-6
            return
        if text.startswith("Today"):
            self.today(text)
            return
        pattern = (
            rf"^{ONE} (?P<how>stays at (?:about )?|comes |ends up ){far('far')}(?: closer| farther away)?; "
            rf"the average trip (?P<mean_how>stays at (?:about )?|gets ){far('mean')}(?P<word> shorter| longer)?"
            rf"(?:, and (?P<who>.+?) than {THAN})?\.$"
        )
        match = re.match(pattern, text)
        assert match, text
        self.moved(match, "far", "largest_distance", match["how"], "closer" in text.split(";")[0])
        self.moved(match, "mean", "mean_distance", match["mean_how"], match["word"] == " shorter")
        self.who(match["who"])
        if match["than"]:
            assert match["than"] == self.truth.plan.reference.than

    def moved(self, match: re.Match, name: str, key: str, how: str, better: bool) -> None:
        said, now, then = self.value(match, name), self.after[key], self.before[key]
        if how.startswith("stays"):
            self.near(said, now)
            slack = 0.02 * then if "about" in how else 0.0
            assert abs(now - then) <= slack + 2 * self.step + 1e-6
        else:
            assert said > 0
            self.near(said, then - now if better else now - then, 2)

    def who(self, said: str | None) -> None:
        losing = sum(one.people for one in self.truth.losing(self.step * (1 - 1e-9)))
        worst = max((-one.gain for one in self.truth.changes), default=0.0)
        if said is None:
            only_adds = not self.truth.case.closed and not self.truth.case.limited
            gaining = self.truth.gaining(self.step * (1 + 1e-9))
            alone = round(self.truth.people) == 1
            assert losing == 0
            assert not gaining or alone or (only_adds and self.truth.plan.reference.kind == "today")
            return
        if said == "no home travels farther":
            assert worst <= NOTHING[self.truth.case.unit] + 1e-6
        elif match := re.match(rf"^no home travels more than {far('most')} farther$", said):
            assert self.value(match, "most") == pytest.approx(self.step)
            assert NOTHING[self.truth.case.unit] - 1e-6 <= worst <= self.step + 1e-6
        else:
            match = re.match(rf"^{CROWD} travels? farther$", said)
            assert match, said
            self.people(match["crowd"], losing)
        if said.startswith("no "):
            nothing_closes = not self.truth.case.closed and not self.truth.case.limited
            assert not (nothing_closes and self.truth.plan.reference.kind == "today"), "that is no news"

    def today(self, text: str) -> None:
        match = re.match(
            rf"^Today the average trip is {far('mean')} and {ONE} is {far('far')} away"
            rf"(?:; (?P<share>[\d.]+) % of homes are within {far('limit')})?\.$",
            text,
        )
        assert match, text
        self.near(self.value(match, "mean"), self.before["mean_distance"])
        self.near(self.value(match, "far"), self.before["largest_distance"])
        if match["share"]:
            assert float(match["share"]) == pytest.approx(100 * self.before["share_within"], abs=0.05001)
            digits = len(match["limit"].partition(".")[2])
            last = 10.0**-digits * UNITS[match["limit_unit"]]
            assert self.value(match, "limit") == pytest.approx(self.truth.standard, abs=0.5001 * last)

    def detail(self, text: str) -> None:
        """Every sentence of the detail, and those that have to be there."""
        rest = text
        said = set()
        while rest:
            name, match = next(
                ((name, match) for name, pattern in DETAIL.items() if (match := re.match(pattern, rest))),
                ("", None),
            )
            assert match, f"nobody has checked this sentence: {rest}"
            getattr(self, name)(match)
            said.add(name)
            rest = rest[match.end() :].lstrip()
        truth, areas = self.truth, self.truth.case.residents.areas
        assert ("overfull" in said) == (truth.overfull > 0)
        assert ("no_room" in said) == (truth.case.name == "against a saved plan that is too small")
        assert ("corners" in said or "widest" in said) == (areas is not None)
        losing, gaining = truth.losing(self.step * (1 + 1e-6)), truth.gaining(self.step * (1 + 1e-6))
        if not truth.plan.is_today and round(truth.people) > 1:
            assert ("lose" in said) >= bool(losing)
            assert ("gain" in said) >= bool(gaining)
            between = [one for one in truth.changes
                       if NOTHING[truth.case.unit] * 1.01 < abs(one.gain) < self.step * 0.999]  # fmt: skip
            assert ("uncounted" in said) >= bool(between and (losing or gaining))

    def lose(self, match: re.Match) -> None:
        self.how_much(match, [(-one.gain, one.people) for one in self.truth.losing(self.step * (1 - 1e-9))])

    def gain(self, match: re.Match) -> None:
        gaining = [(one.gain, one.people) for one in self.truth.gaining(self.step * (1 - 1e-9))]
        self.people(match["crowd"][0].lower() + match["crowd"][1:], sum(people for _, people in gaining))
        self.how_much(match, gaining)

    def how_much(self, match: re.Match, found: list[tuple[float, float]]) -> None:
        mean = math.fsum(size * people for size, people in found) / math.fsum(people for _, people in found)
        self.near(self.value(match, "mean"), mean)
        self.near(self.value(match, "most" if match["most"] else "mean"), max(size for size, _ in found))

    def uncounted(self, match: re.Match) -> None:
        assert self.value(match, "least") == pytest.approx(self.step)
        assert any(
            0.99 * NOTHING[self.truth.case.unit] <= abs(one.gain) <= self.step for one in self.truth.changes
        )

    def worse(self, match: re.Match) -> None:
        """Compared with the table, whose figures are checked by themselves."""

    def verdict(self, match: re.Match) -> None:
        """Compared with the table as well."""
        assert match["than"] == self.truth.plan.reference.than

    def overfull(self, match: re.Match) -> None:
        count, total = (1, 1) if match["one"] else (int(match["full"]), int(match["all"]))
        assert (count, total) == (self.truth.overfull, len(self.truth.case.today))

    def no_room(self, match: re.Match) -> None:
        assert sum(self.truth.plan.reference.most) < self.truth.people, "there is room"

    def corners(self, match: re.Match) -> None:
        case, truth = self.truth.case, self.truth
        now = farthest_corner(case, truth.spots, truth.after)
        then = farthest_corner(case, reference_spots(case, truth.plan), truth.before)
        self.near(self.value(match, "now"), now)
        if not truth.plan.is_today:
            self.near(self.value(match, "then" if match["then"] else "now"), then)

    def widest(self, match: re.Match) -> None:
        assert self.value(match, "now") == pytest.approx(widest_area(self.truth.case), abs=51, rel=0.02)

    def instead(self, match: re.Match) -> None:
        plan = self.truth.plan
        t = math.inf if match["t"] == "∞" else float(match["t"].replace(",", ""))
        j = int(abs(plan.t - t).argmin()) if math.isfinite(t) else len(plan) - 1
        other, _ = recomputed(self.truth.case, j).figures
        longest = self.after["largest_distance"]
        slack = NOTHING[self.truth.case.unit] if match["longest"] == "no longer" else 0.0021 * longest
        assert other["largest_distance"] <= longest + slack
        self.near(self.value(match, "saved"), self.after["mean_distance"] - other["mean_distance"])


DETAIL = {
    "lose": rf"^Those who travel farther lose {far('mean')}(?: on average, {far('most')} at most)?\.(?= |$)",
    "gain": rf"^(?i:{CROWD}) gains? {far('mean')}(?: on average, {far('most')} at most)?\.(?= |$)",
    "uncounted": rf"^Changes of less than {far('least')} are not counted\.",
    "worse": r"^Also worse: .+?\.(?= [A-Z]|$)",
    "verdict": rf"^None of these figures is better than {THAN}\.(?= |$)",
    "overfull": r"^At these limits, (?:(?P<one>the one facility)|(?P<full>\d+) of the (?P<all>\d+) facilities) "
                r"would be over full today\.",
    "no_room": r"^At these limits there is not room for everyone in .+?: its people are measured to the nearest "
               r"facility\.",
    "corners": rf"^{INSIDE}: from the farthest corner of an area the trip is {far('now')}"
               rf"(?:, (?:and {far('then')}|as long as) {THAN})?\.(?= |$)",
    "widest": rf"^{INSIDE}, and its corners are up to {far('now')} from there\.",
    "instead": r"^Take t = (?P<t>[\d.,∞]+) instead: there the longest trip is "
               rf"(?P<longest>no longer|practically as long), and the average trip is {far('saved')} shorter\.",
}  # fmt: skip
