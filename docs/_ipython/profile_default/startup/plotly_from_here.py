"""Charts in the notebooks draw with the site's own copy of plotly.js: plotly by itself would fetch one from outside."""

from typing import Any
from uuid import uuid4

import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer

CHART = """<div id="{name}"></div><script>addEventListener("DOMContentLoaded", () => {{
const chart = {chart};
Plotly.newPlot("{name}", chart.data, chart.layout, {{displayModeBar: false, responsive: true}});
}});</script>"""


class FromHere(MimetypeRenderer):
    """A chart as HTML, drawn once the page has loaded the script (conf.py puts it there)."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, str]:
        """The chart as HTML alone."""
        chart = pio.to_json(fig_dict, validate=False).replace("<", "\\u003c")
        return {"text/html": CHART.format(name=f"chart-{uuid4()}", chart=chart)}


pio.renderers["from here"] = FromHere()
pio.renderers.default = "from here"
