"""Plugin of pytest that runs tests of statsmodels on linsep, and writes what became of each.

``python -m pytest -p statsmodels_suites --pyargs statsmodels.genmod.tests.test_glm`` with the name
of a file in ``SUITES_OUTCOMES``: JSON of test to [outcome, message], only of tests that asked
something of linsep.
"""

import json
import os

import pytest

import statsmodels_adapter as adapter

outcomes, asking = {}, set()


def pytest_collection_modifyitems(items):
    for module in {item.module for item in items}:
        for name, cls in adapter.ADAPTERS.items():
            if hasattr(module, name):
                setattr(module, name, cls)
        if hasattr(module, "sm"):
            module.sm = adapter.Api(module.sm)
        if hasattr(module, "discrete"):
            module.discrete = adapter.Api(module.discrete)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "setup":
        before = adapter.asked[0]
        if item.cls is not None and before > getattr(item.config, "asked_so_far", 0):
            asking.add(item.cls)
        item.config.asked_so_far = before
        if report.failed and item.cls in asking:
            outcomes[item.nodeid] = ["setup", _message(call)]
    if call.when == "call":
        now = adapter.asked[0]
        if now > item.config.asked_so_far and not hasattr(report, "wasxfail"):
            outcomes[item.nodeid] = [report.outcome, _message(call) if report.failed else ""]
        item.config.asked_so_far = now
    return report


def _message(call):
    lines = [line for line in str(call.excinfo.value).splitlines() if line.strip()]
    return f"{call.excinfo.typename}: {' '.join(lines[:6])[:300]}"


def pytest_sessionfinish():
    with open(os.environ["SUITES_OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(outcomes, file, indent=1)
