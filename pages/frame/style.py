"""What the theme cannot say: a few lines of style, all about room and lines."""

CSS = """<style>
@media (min-width: 768px) {
  [data-testid="stMainBlockContainer"] { padding-inline: 1.6rem; }
}
[data-testid="stSidebarUserContent"] { padding-bottom: 0.5rem; }
.st-key-hero h1 { padding: 0; line-height: 1.25; text-wrap: pretty; }
.st-key-hero p { margin-bottom: 0; }
.st-key-dial_row [data-testid="stSlider"] { padding-top: 0; }
.er-ends { display: flex; justify-content: space-between; font-size: 0.93rem; gap: 1rem; }
.er-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[data-testid="stTable"] td, [data-testid="stTable"] th { padding-block: 0.22rem; }
</style>"""
