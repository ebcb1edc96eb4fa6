"""Suggest the reference system of unlabelled coordinates, from the grids that open data use."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from pyproj import CRS, Proj
from pyproj.database import query_crs_info
from pyproj.enums import PJType
from pyproj.exceptions import CRSError, ProjError

from tkm_core.arrays import Floats
from tkm_core.residents.projection import for_proj
from tkm_core.residents.vocabulary import WORD, plain

EPSG_CODE = re.compile(r"(?i)\bEPSG\s*[:_ =/-]*\s*(?:0:)?(\d{4,6})(?!\d)")
# Grids in use: EPSG code, millions of people in its area (roughly), languages of its files.
GRIDS = """
2056 9 de,fr,it | 21781 4 de,fr,it | 27700 200 en | 2157 5 en | 29903 2 en | 29902 2 en | 2154 66 fr
27572 8 fr | 3942 2 fr | 3943 3 fr | 3944 3 fr | 3945 4 fr | 3946 4 fr | 3947 3 fr | 3948 4 fr | 3949 6 fr
3950 3 fr | 28992 18 nl | 31370 11 nl,fr | 3812 5 nl,fr | 25832 60 de,da,no,it | 25833 22 de,no,sv
4647 5 de | 31466 6 de | 31467 20 de | 31468 12 de | 31469 4 de | 31287 9 de | 31254 1 de | 31255 2 de
31256 4 de | 3416 3 de | 3003 25 it | 3004 25 it | 6707 10 it | 6708 10 it | 25829 3 es | 25830 35 es
25831 10 es | 23030 5 es | 3763 10 pt | 2180 38 pl | 2176 3 pl | 2177 9 pl | 2178 11 pl | 2179 3 pl
5514 15 cs | 23700 10 hu | 3794 2 sl | 3765 4 hr | 31700 19 ro | 3844 19 ro | 7801 6 bg | 2100 10 el
3067 6 fi | 3879 2 fi | 3878 1 fi | 3006 10 sv | 3011 2 sv | 3007 1 sv | 3301 1 et | 3059 2 lv | 3346 3 lt
3057 1 is | 2169 1 fr | 5253 10 tr | 5254 25 tr | 5255 15 tr | 5256 8 tr | 2039 9 he | 3035 100 en
3034 10 en | 5186 40 ko | 5185 2 ko | 5187 10 ko | 5188 1 ko | 5174 10 ko | 5181 6 ko | 5179 51 ko
2097 5 ko | 5178 3 ko | 6669 2 ja | 6670 10 ja | 6671 6 ja | 6672 4 ja | 6673 7 ja | 6674 20 ja
6675 11 ja | 6676 5 ja | 6677 40 ja | 6678 6 ja | 6679 1 ja | 6680 4 ja | 6681 1 ja | 2451 15 ja
2448 8 ja | 2449 5 ja | 2444 4 ja | 3826 23 zh | 3825 1 zh | 2326 7 en,zh | 3414 6 en | 4547 100 zh
4548 150 zh | 4549 100 zh | 3375 20 ms | 2193 5 en | 28350 2 en | 28354 2 en | 28355 8 en | 28356 14 en
7850 2 en | 7854 2 en | 7855 8 en | 7856 14 en | 3577 5 en | 3111 7 en | 31982 25 pt | 31983 75 pt
31984 30 pt | 31985 15 pt | 29193 10 pt | 6372 20 es | 9377 30 es | 3116 20 es | 5347 15 es | 22185 5 es
32718 20 es | 32719 10 es | 26917 15 en,fr | 26918 9 en,fr | 32188 5 fr | 2950 4 fr | 26910 6 en
26911 4 en | 3005 5 en | 3347 10 en,fr | 3978 5 en,fr | 5070 30 en | 2263 13 en | 26918 10 en | 2229 16 en
2230 4 en | 2227 8 en | 2228 3 en | 2226 5 en | 2225 1 en | 3435 11 en | 3436 2 en | 2278 9 en | 2276 9 en
2277 4 en | 2275 1 en | 2279 3 en | 2272 8 en | 2271 4 en | 3424 9 en | 2236 10 en | 2237 7 en | 2238 4 en
2240 8 en | 2239 3 en | 2264 10 en | 3734 6 en | 3735 6 en | 2253 9 en | 2285 6 en | 2286 2 en | 2249 7 en
26986 4 en | 2248 6 en | 2283 4 en | 2284 5 en | 2223 6 en | 2274 7 en | 2232 4 en | 2234 4 en | 2965 4 en
2966 3 en | 26851 2 en | 26850 3 en | 2289 4 en | 2269 3 en | 3452 3 en | 3451 2 en | 2246 2 en
2247 2 en | 2273 5 en | 2267 2 en | 2268 2 en | 3566 2 en | 2281 1 en | 3421 2 en | 3420 1 en | 3419 1 en
3417 1 en | 3418 2 en | 3433 2 en | 3434 1 en | 2261 2 en | 2262 2 en | 2260 2 en | 3438 1 en | 2235 1 en
3437 1 en | 32118 3 en | 26943 2 en | 26945 3 en | 26971 2 en | 32111 2 en | 2048 5 en | 2054 5 en
2053 8 en | 2055 2 en | 3857 3000 en | 3395 100 en
"""
LIKELY = 5e-7  # millions of people in a square kilometre of a grid's area: below, nobody guesses it
BESIDE = 4.0  # degrees beside its area in which a grid is still used, by a city near the border of two zones
OFFSHORE = re.compile(r"(?i)offshore|EEZ")
NAME = re.compile(r"[A-Z][^\W\d_]{3,}")  # of a place, in the description of an area
NO_PLACE = frozenset(
    WORD.findall(
        "north south east west northern southern eastern western central between onshore excludes includes including "
        "zone zones state states county counties city island islands region united kingdom republic great system "
        "coordinate plane rectangular"
    )
)
# Millions of people per zone; zones are large, so UTM comes first only where no national grid fits.
UTM_WEIGHT = 25.0
HINTS = (
    (r"lv95|ch1903\+", 2056), (r"lv03|ch1903(?!\+)", 21781), (r"lambert.?93|l93\b|lamb93|rgf93", 2154),
    (r"rijksdriehoek|\brd_?[xy]\b|\b[xy]_?rd\b|amersfoort", 28992), (r"lambert.?72", 31370),
    (r"osgb|british.?national|\bbng\b|easting|northing", 27700),
    (r"gauss|hochwert|rechtswert", 31467), (r"utm.?32|etrs89.?32|zone.?32", 25832),
    (r"utm.?33|zone.?33", 25833), (r"sweref", 3006), (r"tm35fin|etrs.?tm35", 3067), (r"krovak|jtsk", 5514),
    (r"\bnztm", 2193), (r"twd97", 3826), (r"svy21", 3414), (r"hk80|hk1980", 2326), (r"mercator", 3857),
    (r"\bitm\b", 2157), (r"puwg", 2180),
)  # fmt: skip
# Words typical of the headers of tables in each language.
LANGUAGES = {
    "en": "area perimeter community name county street address city state district zip number "
    "neighborhood housing type",
    "de": "strasse straße ort gemeinde plz stadt kreis einwohner bezirk hausnummer ortschaftsname kanton "
    "gemeindename sprache",
    "fr": "commune rue adresse ville departement quartier habitants nom arrondissement libelle postal",
    "es": "calle ciudad municipio provincia barrio direccion nombre distrito poblacion codigo",
    "pt": "rua cidade bairro municipio endereco nome freguesia populacao concelho",
    "it": "via comune provincia indirizzo nome quartiere popolazione cap citta",
    "nl": "straat gemeente postcode buurt wijk naam woonplaats inwoners",
    "pl": "ulica miasto gmina powiat nazwa ludnosc",
    "cs": "ulice obec mesto okres nazev",
    "hu": "utca varos megye nev",
    "fi": "katu kunta nimi kaupunki osoite",
    "sv": "gata kommun namn ort lan",
    "da": "vej by kommune navn",
    "no": "vei kommune navn fylke",
    "tr": "mahalle ilce il sokak nufus adi",
    "ro": "strada judet oras localitate nume",
}
SCRIPTS = {
    "ko": r"[\uac00-\ud7a3]", "ja": r"[\u3040-\u30ff]", "zh": r"[\u4e00-\u9fff]", "el": r"[\u0370-\u03ff]",
    "bg": r"[\u0400-\u04ff]", "he": r"[\u0590-\u05ff]",
}  # fmt: skip


class Grid(NamedTuple):
    """A reference system and its official area of use, a box in degrees."""

    code: str
    name: str
    west: float
    south: float
    east: float
    north: float
    area: str = ""

    @property
    def square_kilometres(self) -> float:
        """Size of the area of use."""
        middle = np.cos(np.radians((self.south + self.north) / 2))
        width = self.east - self.west if self.east >= self.west else self.east - self.west + 360
        return max(float(width * (self.north - self.south) * middle) * 12_365, 1.0)

    def share_of(self, lonlat: Floats, margin: float = 0.0) -> float:
        """Share of points that lie in the box, or at most some degrees outside it."""
        lon, lat = lonlat.T
        east = self.east if self.east >= self.west else self.east + 360
        lon = np.where(lon < self.west - margin, lon + 360, lon)
        inside = (lon <= east + margin) & (self.south - margin <= lat) & (lat <= self.north + margin)
        return float(np.mean(inside))


@lru_cache(maxsize=1)
def all_grids() -> dict[str, Grid]:
    """Every projected system of the EPSG register with its area of use."""
    found = query_crs_info(auth_name="EPSG", pj_types=PJType.PROJECTED_CRS)
    return {
        info.code: Grid(info.code, info.name, *info.area_of_use.bounds, area=info.area_of_use.name or "")
        for info in found
        if not info.deprecated and info.area_of_use is not None
    }


@lru_cache(maxsize=1)
def _local() -> list[Grid]:
    """Every system, in degrees or metres, that is made for less than a continent."""
    found = query_crs_info(auth_name="EPSG", pj_types=PJType.GEOGRAPHIC_2D_CRS)
    known = [
        Grid(info.code, info.name, *info.area_of_use.bounds, area=info.area_of_use.name or "")
        for info in found
        if info.area_of_use is not None
    ]
    return [grid for grid in (*known, *all_grids().values()) if grid.square_kilometres < 3e6]


@lru_cache(maxsize=1)
def _boxes() -> Floats:
    """Areas of use of all local systems, geographic and projected."""
    return np.array([grid[2:6] for grid in _local()])


@lru_cache(maxsize=1)
def _ashore() -> Floats:
    """The boxes of systems that are made for land alone."""
    return np.array([grid[2:6] for grid in _local() if not OFFSHORE.search(grid.area)])


def mapped(lonlat: Floats) -> float:
    """How many local systems cover some points on average: several on land, none on the open sea.

    Examples
    --------
    >>> import numpy as np
    >>> bool(mapped(np.array([[2.35, 48.85]])) > 5), mapped(np.array([[-30.0, 48.85]]))
    (True, 0.0)
    """
    return _covering(lonlat, _boxes())


def _covering(lonlat: Floats, boxes: Floats) -> float:
    """How many of some boxes hold a point, on average."""
    points = lonlat[np.isfinite(lonlat).all(axis=1)]
    points = points[:: max(1, len(points) // 50)]
    west, south, east, north = boxes.T[:, :, None]
    lon, lat = points.T
    inside = (west <= lon) & (lon <= east) & (south <= lat) & (lat <= north)
    return float(inside.sum(axis=0).mean()) if len(points) else 0.0


def code_in(texts: Iterable[str]) -> int | None:
    """The EPSG code stated in headers or the file name, if there is exactly one.

    Examples
    --------
    >>> code_in(["X좌표(EPSG:5186)", "Y좌표(EPSG:5186)"])
    5186
    """
    codes = {int(found) for text in texts for found in EPSG_CODE.findall(text)}
    return codes.pop() if len(codes) == 1 else None


@lru_cache(maxsize=512)
def _projection(code: str) -> Proj | None:
    """The projection of an EPSG code; None if PROJ cannot make it."""
    try:
        return Proj(f"EPSG:{code}")
    except (CRSError, ProjError):
        return None


def _in_degrees(points: Floats, grid: Grid) -> Floats | None:
    """Degrees of points that are taken as coordinates of a grid; None where they cannot be."""
    projection = _projection(grid.code)
    if projection is None:
        return None
    x, y = for_proj(*points.T)
    return np.column_stack([np.asarray(part) for part in projection(x, y, inverse=True)])


def suggest(points: Floats, texts: Sequence[str], *, limit: int = 6) -> list[tuple[str, str]]:
    """Reference systems in which these numbers are a plausible place, the likeliest first.

    A grid is likely if the numbers lie where it is made for, if that area is small and many people live
    there, if the data fill it, and if the file is written in its language or names a place in it. Beside its area it
    is likely only where language or place speak for it.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Coordinates as in the file.
    texts : sequence of str
        Names of the file and its columns, and some values.

    Returns
    -------
    list of tuple of (str, str)
        Like ``("EPSG:2056", "CH1903+ / LV95")``.
    """
    points = points[np.isfinite(points).all(axis=1) & (points != 0).any(axis=1)]
    points = points[:: max(1, len(points) // 200)]
    if len(points) == 0:
        return []
    low, high = np.percentile(points, [5, 95], axis=0)
    extent = max(float(np.prod((high - low) / 1_000)), 1.0)
    text = " ".join(texts)
    spoken, known = _languages(text), all_grids()
    hinted = {str(code) for pattern, code in HINTS if re.search(pattern, text, re.IGNORECASE)}
    words = set(WORD.findall(plain(text)))
    named = [known[code] for code, places in _places().items() if places & words]
    scores = {}
    for code, (people, languages) in _usual().items():
        grid = known.get(code)
        if grid is None or (lonlat := _in_degrees(points, grid)) is None:
            continue
        inside = grid.share_of(lonlat)
        here = any(place.share_of(lonlat) > 0.5 for place in named)
        ours = here or bool(languages & spoken)
        if inside < 0.9 and not (ours and grid.share_of(lonlat, BESIDE) >= 0.9):
            continue
        fill = min(1.0, extent / grid.square_kilometres) ** 0.5
        score = people * fill / grid.square_kilometres
        if not (ours or code in hinted) and (score < LIKELY * fill or not _covering(lonlat, _ashore())):
            continue
        score *= inside if inside >= 0.9 else 0.05
        if languages and spoken:
            score *= 5.0 if languages & spoken else 0.3
        if languages & set(SCRIPTS) and not languages & spoken and not here:
            score *= 0.02
        scores[code] = score * (1_000 if code in hinted else 1) * (100 if here else 1)
    if not scores:
        scores = {grid.code: 1 / grid.square_kilometres for grid in named if _holds(grid, points)}
    ranked = sorted(scores, key=lambda code: -scores[code])[:limit]
    return [(f"EPSG:{code}", known[code].name) for code in ranked]


@lru_cache(maxsize=1)
def _places() -> dict[str, frozenset[str]]:
    """The names of countries, regions and cities in the official areas of local grids."""
    return {
        code: frozenset(map(plain, NAME.findall(grid.area))) - NO_PLACE
        for code, grid in all_grids().items()
        if grid.square_kilometres < 3e6
    }


def _holds(grid: Grid, points: Floats) -> bool:
    """Whether points, taken as coordinates of a grid, lie where it is made for."""
    lonlat = _in_degrees(points, grid)
    return lonlat is not None and grid.share_of(lonlat) > 0.98


@lru_cache(maxsize=1)
def _usual() -> dict[str, tuple[float, frozenset[str]]]:
    """The grids in use: people in the area and languages, by EPSG code."""
    grids = {}
    for entry in re.split(r"[|\n]", GRIDS.strip()):
        code, people, languages = entry.split()
        grids[code] = (float(people), frozenset(languages.split(",")))
    for zone in range(1, 61):
        for first in (32600, 32700):
            grids.setdefault(str(first + zone), (UTM_WEIGHT, frozenset()))
    return grids


def _languages(text: str) -> set[str]:
    """The languages a text may be in, by its script or else by its words."""
    found = {language for language, pattern in SCRIPTS.items() if re.search(pattern, text)}
    if found == {"zh"}:
        return {"zh", "ja"}  # headers in Japanese are often without kana
    if found:
        return found
    words = set(WORD.findall(plain(text)))
    counts = {language: len(words & set(WORD.findall(plain(known)))) for language, known in LANGUAGES.items()}
    most = max(counts.values())
    return {language for language, count in counts.items() if count == most} if most else set()


def parse_crs(choice: object) -> CRS:
    """A reference system from what people type: 2056, "EPSG:2056", "epsg 2056", a WKT, a CRS.

    Examples
    --------
    >>> parse_crs("epsg 2056").name
    'CH1903+ / LV95'
    """
    text = str(choice).strip() if not isinstance(choice, CRS) else choice
    if isinstance(text, str) and (digits := re.fullmatch(r"(?i)(?:EPSG)?[\s:]*(\d{4,6})", text)):
        return CRS.from_epsg(int(digits[1]))
    return CRS.from_user_input(text)
