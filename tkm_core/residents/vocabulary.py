"""Multilingual vocabulary of column names in open data, and scores of how well a name matches it."""

import re
import unicodedata
from functools import lru_cache

LATITUDE = """
lat latitude latitud latitudine latitudo latitudes latwgs84 wgs84lat gpslat geolat lati latt intptlat
decimallatitude ycoordlat breite breitengrad geographischebreite geobreite breedtegraad breddegrad
breddgrad bredde leveysaste leveyspiiri szelesseg szelessegifok szerokosc szerokoscgeograficzna sirka
zemepisnasirka zemepisnasirina sirina geografskasirina enlem широта γεωγραφικοπλατος πλατος platums
platuma laius laiuskraad 위도 緯度 纬度 北緯 北纬 ละติจูด خطالعرض دائرةالعرض קורוחב רוחב अक्षांश vido
lintang garislintang
"""
LONGITUDE = """
lon lng long longitude longitud longitudine longitudo longitudes lonwgs84 wgs84lon gpslon gpslong geolon
geolng longi intptlon intptlong decimallongitude lengte lengtegraad laenge laengengrad lange langengrad
geographischelange geolange lengdegrad langdgrad lengde pituusaste pituuspiiri hosszusag hosszusagifok
dlugosc dlugoscgeograficzna delka zemepisnadelka zemljepisnadolzina dolzina duzina geografskaduzina boylam
долгота γεωγραφικομηκος μηκος garums garuma pikkuskraad 경도 経度 經度 经度 東経 东经 東經 ลองจิจูด
خطالطول קואורך אורך देशांतर रेखांश kinhdo bujur garisbujur
"""
EASTING = """
x xcoord xcoordinate coordx xkoordinate xkoord xco xpos posx pointx xutm utmx utme xwgs84 easting eastings
east este est ost ostwert oost rechtswert rechts hr e ekoord ekoordinate elv95 elv03 lambx xlamb93 xl93
xlambert93 lambert93x xrd rdx coordenadax coordonneex coordinatax abscisse abscissa itakoordinaatti ita
xekoordinata wspolrzednax souradnicex x좌표 경도x좌표 x座標 横坐标 x坐标 東距 координатах xcenter
xcentroid centroidx geox mapx xgeo xmap
"""
NORTHING = """
y ycoord ycoordinate coordy ykoordinate ykoord yco ypos posy pointy yutm utmy utmn ywgs84 northing
northings north norte nord noord nordwert hochwert hoch n nkoord nkoordinate nlv95 nlv03 lamby ylamb93
yl93 ylambert93 lambert93y yrd rdy coordenaday coordonneey coordinatay ordonnee ordinata
pohjoiskoordinaatti pohjoinen wspolrzednay souradnicey y좌표 y座標 纵坐标 y坐标 北距 координатау ycenter
ycentroid centroidy geoy mapy ygeo ymap
"""
BOTH = """
coordonneesgps coordinates coordinate coords coord geopoint2d geopoint latlon latlong latlng lonlat lnglat
location geolocation geolocalisation geolocalizacion point pointgeo position gps gpscoordinates
koordinaten koordinater koordinaatit coordenadas coordinategeografiche coordonnees localisation
localizacion geom geometry thegeom wkt wktgeom shape geo 좌표 座標 坐标 координаты
"""
POPULATION = """
population pop popul popt totpop poptot totalpopulation populationtotal popest popestimate popestimated
popcount inhabitants inhabitant inhab residents residentpopulation persons personen people numpeople
headcount poblacion habitantes hab populacao moradores populacaoresidente populacaototal popolazione
abitanti residenti einwohner einwohnerzahl einwohnerinnen ew ewz bevolkerung bevoelkerung bevolking
aantalinwoners inwoners inwonertal inwoneraantal habitants nbhabitants nombrehabitants nombredhabitants
populationmunicipale pmun ptot popmun befolkning folkemengde folkmangd invanare innbyggere indbyggere
indbyggertal asukasluku asukkaat vaesto vakiluku ludnosc liczbaludnosci mieszkancy liczbamieszkancow
obyvatele obyvatel pocetobyvatel nepesseg lakossag populatie stanovnistvo nufus население
численностьнаселения жители πληθυσμος 인구 인구수 총인구 총인구수 人口 人口数 人口総数 総人口 总人口
總人口 人數 人数 居民数 penduduk jumlahpenduduk jiwa danso ประชากร จำนวนประชากร السكان عددالسكان אוכלוסייה
תושבים जनसंख्या
"""
PEOPLE_PERHAPS = """
households household hh hogares menages haushalte homes dwellings dwelling housingunits hseunits units
demand weight weights wt count counts anzahl cantidad aantal antall antal capacity capacidad capacite
employees jobs workers students pupils patients customers beds voters electors adults children 세대수
世帯数 인원 가구수 이용가능인원
"""
NOT_PEOPLE = """
density densite densidad dichte rate ratio share pct percent percentage proportion prop anteil quote taux
tasa growth change delta per perkm2 perkm prokm2 avg average mean median rank ranking code id name nom
nombre label zip plz year jahr ano date
"""
PART_OF_PEOPLE = """
male female men women hommes femmes hombres mujeres manner frauen maenner age aged under over child
children youth senior seniors old young white black asian hispanic urban rural foreign auslander masculin
feminin 남자 여자 남 여 男 女
"""
GROUP = """
district districts neighborhood neighbourhood neighborhoods borough ward wards region county community
communityarea zone sector quartier arrondissement commune bezirk stadtteil ortsteil stadtbezirk gemeinde
gemeindename kanton kantonskurzel landkreis kreis barrio distrito municipio comuna provincia estado
colonia parroquia freguesia concelho bairro quartiere comune wijk buurt gemeente kommun kommune kunta
kaupunginosa gmina powiat dzielnica obec okres ilce mahalle район округ δημος 자치구 시군구 시군구명
행정동 행정동명 구 区 區 地区 行政区 市区町村 町丁目 income incomeband incomegroup incomelevel group
category class segment agegroup ethnicity race deprivation quintile decile stratum state statename
departement
"""
IDENTITY = """
id objectid fid gid uid uuid ogcfid key code geoid geocode ident identifier identifiant kennung nummer nr
no num rowid index pk recordid siteid tractid blockid tract geoid10 geoid20 affgeoid bfsnr codeinsee
codecommuneinsee insee eva evanr 관리번호 번호 番号 编号
"""
PLACE = """
name nom nombre nome naam navn namn nimi nazwa nazev bezeichnung namelsad placename village town locality
название имя 이름 명칭 名称 名稱 名前
"""
NOT_A_PLACE = """
street strasse rue calle straat gata owner contact person first last given family file user school company
"""
MEASURE = """
area flache flaeche superficie perimeter length leng len shape acres hectares sqmi sqkm km2 sqm price value cost
elevation altitude height width distance time hour minutes floor floors bed bath rooms lat lon x y z objectid
"""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
WORD = re.compile(r"[^\W\d_]+|\d+")


LONGEST = 200  # characters of a name that are compared


def plain(text: str) -> str:
    """Text without differences of case, width and accents, in any script."""
    decomposed = unicodedata.normalize("NFKD", CAMEL.sub(" ", text)).casefold()
    bare = "".join(char for char in decomposed if unicodedata.category(char) not in ("Mn", "Mc"))
    return unicodedata.normalize("NFC", bare)


def _words(text: str) -> frozenset[str]:
    """The words of a list, in the form in which names are compared."""
    return frozenset("".join(WORD.findall(plain(word))) for word in text.split())


VOCABULARY = {
    "latitude": _words(LATITUDE),
    "longitude": _words(LONGITUDE),
    "easting": _words(EASTING),
    "northing": _words(NORTHING),
    "lonlat": _words(BOTH),
    "weight": _words(POPULATION),
    "perhaps": _words(PEOPLE_PERHAPS),
    "not people": _words(NOT_PEOPLE),
    "part": _words(PART_OF_PEOPLE),
    "group": _words(GROUP),
    "id": _words(IDENTITY),
    "place": _words(PLACE + GROUP),
    "not a place": _words(NOT_A_PLACE),
    "measure": _words(MEASURE),
}


@lru_cache(maxsize=20_000)
def name_score(name: str, meaning: str) -> float:
    """How clearly a column's name has a meaning: 3 exactly, 2 as one of its words, 1 as part of a word, 0 not at all.

    Examples
    --------
    >>> [name_score(name, "latitude") for name in ("Latitude", "stop_lat", "plateau")]
    [3.0, 2.0, 0.0]
    >>> name_score("X좌표(EPSG:5186)", "easting"), name_score("POP2000", "weight")
    (3.0, 2.5)
    >>> name_score("NEIGHBORHO", "place")
    2.0
    """
    known = VOCABULARY[meaning]
    words = WORD.findall(plain(re.sub(r"[(\[].*?[)\]]", " ", name[:LONGEST])))
    letters = [word for word in words if not word.isdigit()]
    joined = "".join(words)
    if not joined:
        return 0.0
    if joined in known:
        return 3.0
    if "".join(letters) in known:
        return 2.5
    pairs = {"".join(letters[place : place + 2]) for place in range(len(letters) - 1)}
    single = {word for word in letters if len(word) > 1 or len(letters) <= 3}
    if (single | pairs) & known or _cut_off(joined, known):
        return 2.0
    return 1.0 if _contains(joined, known) else 0.0


def _cut_off(joined: str, known: frozenset[str]) -> bool:
    """Whether a name is a known word cut off after ten characters, as in shapefiles: "NEIGHBORHO"."""
    return len(joined) >= 8 and any(word.startswith(joined) for word in known)


def _contains(joined: str, known: frozenset[str]) -> bool:
    """Whether a compound contains a known word: at its end in Latin script, anywhere in scripts without spaces."""
    if joined.isascii():
        return any(len(word) >= 6 and (joined.endswith(word) or joined.startswith(word)) for word in known)
    return any(not word.isascii() and len(word) >= 2 and word in joined for word in known)
