"""Machine code is made quickly in these tests: the bits are the same. Not where size matters, and what users run."""

import pytest
from exported import quickly

THOROUGH = ("test_export_programs", "test_export_parameters")


@pytest.fixture(scope="module", autouse=True)
def effort(request):
    if request.module.__name__.rpartition(".")[2] in THOROUGH:
        yield
    else:
        with quickly():
            yield
