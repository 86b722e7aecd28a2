"""A pytest plugin that writes the outcome of each test to the file in $OUTCOMES, one line each:
`passed`, `failed` or `skipped`, and the test's name. An expected failure counts as passed."""

import os

WORST = {"skipped": 0, "passed": 1, "failed": 2}
outcomes = {}


def pytest_runtest_logreport(report):
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "passed" if report.skipped else "failed"
    elif report.when != "call" and outcome == "passed":
        # A test that is skipped during its setup has no result of its own.
        return
    before = outcomes.get(report.nodeid)
    if before is None or WORST[outcome] > WORST[before]:
        outcomes[report.nodeid] = outcome


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    path = os.environ.get("OUTCOMES")
    if path:
        with open(path, "w") as file:
            for name, outcome in sorted(outcomes.items()):
                file.write(f"{outcome} {name}\n")
