"""The page that the benchmarks compare with works: otherwise they would wait for a map that never comes."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

PAGE = Path(__file__).parents[2] / "benchmarks" / "pydeck_page.py"


def test_the_peer_of_the_live_map_draws_a_plan() -> None:
    app = AppTest.from_file(str(PAGE), default_timeout=60)
    app.query_params["dataset"] = "generated-300"
    app.run()
    assert not app.exception
    assert "average trip" in app.markdown[0].value and app.get("deck_gl_json_chart")
