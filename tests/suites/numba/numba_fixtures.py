"""The fixture that numba-cuda's tests expect from the project's own pytest configuration, which isn't
in its package."""

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
