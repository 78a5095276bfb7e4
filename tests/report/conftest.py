"""What the tests of the report share."""

import pytest

from gedp import fit_microdata
from gedp.microdata import Microdata
from tests.microdata.test_fit import EVERYTHING, release_of, some_rows


@pytest.fixture(scope="module")
def microdata(tmp_path_factory: pytest.TempPathFactory) -> Microdata:
    """The microdata of a release with every kind of answer, on file."""
    fitted = fit_microdata(release_of(some_rows(300), EVERYTHING, tmp_path_factory.mktemp("report")))
    fitted.write()
    return fitted
