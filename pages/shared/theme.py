"""What the theme cannot say: a few lines of style, all about room and lines, and one about reading in the dark."""

CSS = """<style>
@media (min-width: 768px) {
  [data-testid="stMainBlockContainer"] { padding-inline: 1.6rem; }
}
@media (max-width: 1199px) {
  .st-key-body :has(> [data-testid="stColumn"]) { flex-wrap: wrap; }
  .st-key-body [data-testid="stColumn"] { flex: 1 1 100%; min-width: 100%; }
}
[data-testid="stSidebarUserContent"] { padding-bottom: 0.5rem; }
.st-key-hero [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
@media (min-width: 1200px) { .st-key-hero { min-height: 5.6rem; } }
.st-key-hero h1 { font-size: 1.42rem; padding: 0; line-height: 1.22; text-wrap: pretty; }
.st-key-hero p { margin-bottom: 0; line-height: 1.45; }
.st-key-t [data-testid="stSliderTickBar"] { visibility: hidden; }
.st-key-ends { margin-top: -1.2rem; }
.er-ends { display: flex; justify-content: space-between; font-size: 0.93rem; gap: 1rem; }
.er-ends.er-pad { padding-left: 5.9rem; }
.er-ends span:last-child { text-align: right; }
.er-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.deck-tooltip:has(br)::first-line { font-weight: 700; }
[data-testid="stTable"] td, [data-testid="stTable"] th { padding-block: 0.22rem; }
</style>"""
# Streamlit writes white on the primary colour, which is light in the dark theme, and darkens it on a button in use.
DARK = """<style>
[data-testid="stBaseButton-primary"], [data-testid="stBaseButton-primary"]:is(:hover, :focus, :active) {
  color: #11191D;
}
[data-testid="stPopoverButton"]:is(:hover, :focus, :active, [aria-expanded="true"]) { color: #57C4CF; }
</style>"""


def css(theme: str) -> str:
    """The style for a theme, "light" or "dark"."""
    return CSS + DARK if theme == "dark" else CSS
