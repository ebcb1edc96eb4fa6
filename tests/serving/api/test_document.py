"""What the OpenAPI document says is so: schemathesis asks all that it allows, and what it forbids."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from pages.serving.api import build
from tests.serving.api.conftest import ANN, token_of

DOCUMENT = schemathesis.openapi.from_asgi("/openapi.json", build())
OPERATIONS = {found.ok().label: found.ok() for found in DOCUMENT.get_all_operations()}
READS_A_FILE = "POST /datasets"  # each in a process of its own


@pytest.mark.usefixtures("sign_in")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_what_the_document_says(label: str) -> None:
    headers = {"Authorization": f"Bearer {token_of(ANN)}"}

    @settings(
        max_examples=2 if label == READS_A_FILE else 8,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy())
    def ask(case: schemathesis.Case) -> None:
        # a file or a name that the document allows may still be none
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

    ask()
