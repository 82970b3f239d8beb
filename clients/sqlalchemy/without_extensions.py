"""A pytest plugin: the suite makes no extensions, for `setup` in suite.toml makes them where the server has them.

The suite would make them whenever it starts, and where one is missing, not one test would run.
"""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart():
    # Only here, because the suite must be the first to import its library.
    from sqlalchemy.dialects.postgresql import provision

    provision._extensions.clear()
