"""Rules of the whole suite: a test that was skipped proves nothing, so in CI it fails the run."""

import os
import signal

import pytest

# Where it is set, the processes that tests start would write unbuffered, which people's do not.
os.environ.pop("PYTHONUNBUFFERED", None)
# In the background of a shell SIGINT is ignored, under nohup SIGHUP, and every process that the suite starts would
# inherit that: the tests of Ctrl-C would test nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.getreports("skipped")
    if skipped and skips_are_failures():
        terminalreporter.section("skipped tests fail the run (CI=true)", red=True)
        for report in skipped:
            terminalreporter.line(f"{report.nodeid}: {report.longrepr}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return  # one of several processes: the one that collects their reports judges
    if exitstatus == pytest.ExitCode.OK and skips_are_failures() and reporter.getreports("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skips_are_failures() -> bool:
    return os.environ.get("CI") == "true"
