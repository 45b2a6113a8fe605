"""Properties once more, with many more examples than `make test` has time for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# How many times more, for properties that ask for a number (`examples.usually`) and for those that do not.
TIMES = {
    "unit/test_urls.py": 30,
    "unit/test_robots.py": 30,
    "unit/test_sitemap.py": 30,
    "unit/test_parse_hostile.py": 30,
    "unit/test_search_query.py": 30,
    "unit/test_search_snippet.py": 30,
    "contract/test_store_properties.py": 10,  # all is counted after each example, and there is more each time
}
RUN = """
import sys, pytest

class Many:
    def pytest_configure(self):
        from hypothesis import settings  # not above: pytest wants to see it imported
        examples = int(sys.argv[1]) * settings().max_examples
        settings.register_profile("many", max_examples=examples, deadline=None, database=None)
        settings.load_profile("many")

sys.exit(pytest.main(sys.argv[2:], plugins=[Many()]))
"""


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TIMES)
def test_the_properties_hold_for_many_more_examples(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(TIMES[name]), TESTS / name, "-m", "not full"],
        check=False, capture_output=True, text=True, timeout=890,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
