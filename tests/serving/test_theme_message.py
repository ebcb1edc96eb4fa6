"""What every browser is told of the look of the app: the same as Streamlit's own function says."""

import pytest
from streamlit.config import CustomThemeCategories
from streamlit.proto.NewSession_pb2 import CustomThemeConfig

from pages.serving import theme_message


@pytest.mark.parametrize("section", ["theme", *(f"theme.{part.value}" for part in CustomThemeCategories)])
def test_it_is_what_streamlit_would_say(section: str) -> None:
    theirs, first, again = CustomThemeConfig(), CustomThemeConfig(), CustomThemeConfig()
    theme_message._from_settings(theirs, section)
    for ours in (first, again):
        theme_message._copy(ours, section)
        assert ours == theirs
    first.base_font_size = 99
    theme_message._copy(other := CustomThemeConfig(), section)
    assert other == theirs, "nobody's message is anybody else's"
