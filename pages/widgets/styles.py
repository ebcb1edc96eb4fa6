"""Styles that the theme cannot express: a few lines on spacing and wrapping, and one on legibility in the dark."""

# Where a page is drawn quickly, Streamlit leaves the sidebar of the one before, empty: then only its logo stays.
EMPTY = '[data-testid="stSidebar"]:not(:has([data-testid="stElementContainer"]))'
CSS = """<style>
@media (min-width: 768px) {
  [data-testid="stMainBlockContainer"] { padding-inline: 1.6rem; }
}
@media (max-width: 1199px) {
  .st-key-body :has(> [data-testid="stColumn"]) { flex-wrap: wrap; }
  .st-key-body [data-testid="stColumn"] { flex: 1 1 100%; min-width: 100%; }
}
[data-testid="stSidebarUserContent"] { padding-bottom: 0.5rem; }
.st-key-t [data-testid="stSliderTickBar"] { visibility: hidden; }
.er-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.er-swipe { display: none; margin: 0; }
@media (max-width: 767px) { .er-swipe { display: block; } }
.deck-tooltip:has(br)::first-line { font-weight: 700; }
.st-key-present_button { position: fixed; top: 0.45rem; right: 4.5rem; z-index: 1000000; width: auto; }
@media (max-width: 767px) { .st-key-present_button { display: none; } }
[data-testid="stTable"] td, [data-testid="stTable"] th { padding-block: 0.22rem; }
@media (min-width: 768px) {
  EMPTY { position: absolute !important; width: 15rem !important; min-width: 0 !important; height: 3.75rem !important;
    background: none !important; border: 0 !important; z-index: 1000000; overflow: hidden; }
  EMPTY [data-testid="stSidebarCollapseButton"] { display: none; }
  EMPTY ~ * [data-testid="stTopNav"] { margin-left: 11rem; }
}
</style>""".replace("EMPTY", EMPTY)
# Streamlit writes white on the primary colour, which is light in the dark theme, and darkens it on a button in use.
DARK = """<style>
[data-testid="stBaseButton-primary"], [data-testid="stBaseButton-primary"]:is(:hover, :focus, :active) {
  color: #11191D;
}
[data-testid="stPopoverButton"]:is(:hover, :focus, :active, [aria-expanded="true"]) { color: #57C4CF; }
</style>"""

# For a projector: no menu and no sidebar, larger type, the map as high as the window leaves room for.
PRESENTATION = """<style>
[data-testid="stHeader"], [data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] { display: none; }
[data-testid="stMainBlockContainer"] { padding: 0.3rem 1.4rem 0; }
.st-key-present_button { visibility: visible; display: block; top: auto; bottom: 0.6rem; right: 1.2rem; }
.st-key-slide { --map-height: calc(100vh - 12.6rem); --map-font-size: 17px; }
.st-key-slide .sentence h1 { font-size: 1.75rem; line-height: 1.28; }
.st-key-slide .sentence p { font-size: 1rem; padding-top: 0.4rem; }
.st-key-slide .sentence .context { display: none; }
.st-key-slide [data-testid="stTable"] { font-size: 1.1rem; }
@media (max-width: 900px) {
  .st-key-present_button { position: static; align-self: flex-end; }
  .st-key-slide { --map-height: 60vh; }
  .st-key-slide :has(> [data-testid="stColumn"]) { flex-wrap: wrap; }
  .st-key-slide [data-testid="stColumn"] { flex: 1 1 100%; min-width: 100%; }
}
</style>"""


def css(theme: str) -> str:
    """The style for a theme, "light" or "dark"."""
    return CSS + DARK if theme == "dark" else CSS
