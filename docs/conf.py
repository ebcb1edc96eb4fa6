"""Settings of the documentation site: ``make docs`` builds it into ``out/docs`` and fails on any warning."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import plotly
from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE / "_extensions")]
# the notebooks' kernels are processes of their own: they import from here, and draw charts without fetching anything
os.environ["PYTHONPATH"] = str(ROOT)
os.environ["IPYTHONDIR"] = str(HERE / "_ipython")

from tkm_core.version import VERSION  # noqa: E402  once the path is set

project = "EvenReach"
author = "the EvenReach contributors"
copyright = "the EvenReach contributors, MIT licence"  # noqa: A001  the name Sphinx asks for
version = release = VERSION

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_nb", "mathml"]
exclude_patterns = ["_*"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"  # documentation that is not run is not true for long
nb_execution_timeout = 120
nb_execution_show_tb = True

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = "EvenReach"
html_theme_options = {"light_logo": "logo.svg", "dark_logo": "logo.svg", "sidebar_hide_name": True}
html_favicon = str(ROOT / "assets" / "favicon.png")
html_math_renderer = "mathml"
html_static_path = ["_static", "../assets/logo.svg"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False


def _chart_script(app: Sphinx, page: str, _template: str, _context: dict[str, Any], _tree: object) -> None:
    """Load plotly.js where charts are drawn, and only there: it has 4.5 MB."""
    if page.startswith("notebooks/"):
        app.add_js_file("plotly.min.js")


def _own_plotly(app: Sphinx, failed: Exception | None) -> None:
    """Put the script of the installed plotly beside the pages."""
    if failed is None and app.builder.format == "html":
        script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        shutil.copy(script, Path(app.outdir) / "_static" / "plotly.min.js")


def setup(app: Sphinx) -> None:
    """What no setting does."""
    app.connect("html-page-context", _chart_script)
    app.connect("build-finished", _own_plotly)
