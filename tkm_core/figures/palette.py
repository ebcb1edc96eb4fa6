"""Colour palettes for maps, charts and the report, in a light and a dark theme."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RGB = tuple[int, int, int]


def rgb(hex_color: str) -> RGB:
    """A hexadecimal colour as three numbers from 0 to 255.

    Examples
    --------
    >>> rgb("#0B5D6B")
    (11, 93, 107)
    """
    code = hex_color.lstrip("#")
    return int(code[0:2], 16), int(code[2:4], 16), int(code[4:6], 16)


def to_hex(color: RGB) -> str:
    """``#rrggbb`` of three numbers from 0 to 255."""
    return "#{:02X}{:02X}{:02X}".format(*color)


@dataclass(frozen=True)
class Palette:
    """The colours of one theme; every text colour has a contrast of 4.5 or more on `page` and `ground`."""

    name: str
    page: str
    ground: str
    grid: str
    border: str
    ink: str
    muted: str
    accent: str
    better: str
    worse: str
    facilities: tuple[str, ...]
    path: tuple[str, str, str]
    near_far: tuple[str, ...]
    gain: str
    loss: str
    same: str
    area_alpha: int
    water: str
    park: str
    road: str
    street: str

    def facility(self, j: int) -> RGB:
        """Colour of facility j: the same on every map and chart; colours repeat, numbers do not."""
        return rgb(self.facilities[j % len(self.facilities)])

    def along_path(self, t: npt.ArrayLike) -> list[RGB]:
        """Blue to red over t, spread out between 0.1 and 10, where facilities move most.

        Examples
        --------
        >>> [to_hex(color) for color in LIGHT.along_path([0, 1, 100])]
        ['#2552C4', '#8B3989', '#CE2029']
        """
        with np.errstate(divide="ignore"):
            place = (np.log10(np.asarray(t, dtype=float)) + 2) / 4
        share = np.clip((place - 0.22) / 0.5, 0, 1)
        return self._ramp(self.path, share)

    def along_dial(self, m: int) -> list[RGB]:
        """Blue to red over the m stops of a dial.

        Examples
        --------
        >>> [to_hex(color) for color in LIGHT.along_dial(3)]
        ['#2552C4', '#823C96', '#CE2029']
        """
        return self._ramp(self.path, np.linspace(0, 1, m))

    def by_distance(self, share: npt.ArrayLike) -> list[RGB]:
        """Near to far for shares from 0 to 1."""
        return self._ramp(self.near_far, np.clip(np.asarray(share, dtype=float), 0, 1))

    def by_change(self, share: npt.ArrayLike) -> list[RGB]:
        """From loss (-1) through no change (0) to gain (1)."""
        return self._ramp(
            (self.loss, self.same, self.gain), (np.clip(np.asarray(share, dtype=float), -1, 1) + 1) / 2
        )

    def text_on(self, color: RGB) -> str:
        """White or near-black, whichever is easier to read on a colour."""
        light, dark = "#FFFFFF", "#10191D"
        return light if contrast(color, rgb(light)) >= contrast(color, rgb(dark)) else dark

    @staticmethod
    def _ramp(stops: tuple[str, ...], share: npt.NDArray[np.float64]) -> list[RGB]:
        """Colours interpolated between stops."""
        colors = np.array([rgb(stop) for stop in stops], dtype=float)
        at = np.linspace(0, 1, len(stops))
        mixed = [np.interp(np.atleast_1d(share), at, colors[:, channel]) for channel in range(3)]
        return [(int(r), int(g), int(b)) for r, g, b in np.rint(np.column_stack(mixed))]


def contrast(one: RGB, other: RGB) -> float:
    """WCAG contrast ratio of two colours, 1 to 21.

    Examples
    --------
    >>> round(contrast((0, 0, 0), (255, 255, 255)), 1)
    21.0
    """

    def luminance(color: RGB) -> float:
        """Relative luminance as WCAG defines it."""
        parts = np.array(color) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


# Facilities have the hues of Paul Tol's "muted" and "light" schemes, shifted so that any two differ by at least 12
# (CIEDE2000) for people who lack red, green or blue cones (Machado et al. 2009), and each has a contrast of at least
# 3 to 1 with the background. Pure blue and red are reserved for the path.
LIGHT = Palette(
    name="light",
    page="#FFFFFF",
    ground="#F3F5F4",
    grid="#E2E8E6",
    border="#DCE3E1",
    ink="#16242A",
    muted="#55656B",
    accent="#0B5D6B",
    better="#0B6B4F",
    worse="#9C4A00",
    facilities=(
        "#307964", "#A8468F", "#57620F", "#4595C6", "#A98502", "#4B0087", "#F0527F", "#17482B", "#5A153E"
    ),
    path=("#2552C4", "#823C96", "#CE2029"),
    near_far=("#B8DDE0", "#5FA8B3", "#2B6F86", "#3B3A6B", "#2A1440"),
    gain="#0B7A5A",
    loss="#C25A00",
    same="#D3DAD8",
    area_alpha=28,
    water="#CFE0EA",
    park="#DFEBDD",
    road="#C3CCC9",
    street="#DCE2E0",
)  # fmt: skip
DARK = Palette(
    name="dark",
    page="#11191D",
    ground="#161F24",
    grid="#243036",
    border="#2A383E",
    ink="#E4ECEE",
    muted="#9DB0B7",
    accent="#57C4CF",
    better="#6FD3AE",
    worse="#F2B071",
    facilities=(
        "#1F987F", "#F395B2", "#FAF0B3", "#53DDFE", "#D36710", "#97D807", "#9B8CF0", "#E9F2E3", "#BCAF77"
    ),
    path=("#5A96FF", "#BE82D7", "#FF5C5C"),
    near_far=("#245058", "#3C8A93", "#7CC3B0", "#DDDD9A", "#FFF3C4"),
    gain="#5BE0B0",
    loss="#FF9F4A",
    same="#46565D",
    area_alpha=26,
    water="#1A2E3B",
    park="#1A2A24",
    road="#3A4A52",
    street="#2A373E",
)  # fmt: skip


def palette(theme: str) -> Palette:
    """The palette of a theme by its name, "light" or "dark"."""
    return DARK if theme == "dark" else LIGHT
