"""Django's test runner, which besides writes `outcome name` lines and ends a test that takes too long."""

import os
import signal
import unittest

from django.test.runner import DiscoverRunner
from lacking import tables_are_made

SECONDS = int(os.environ.get("MOTE_CLIENTS_TIMEOUT", "60"))


class Overdue(Exception):
    pass


def overdue(*_):
    raise Overdue(f"the test takes more than {SECONDS} s")


class Result(unittest.TextTestResult):
    """Writes each outcome as soon as it is known, so that a run that breaks off leaves what it knows."""

    report = open(os.environ["MOTE_CLIENTS_REPORT"], "a", buffering=1)

    def write(self, outcome, test):
        # A failed setUpClass has no test; unittest calls it "setUpClass (path.Class)".
        self.report.write(f"{outcome} {test.id()}\n")

    def startTest(self, test):
        signal.signal(signal.SIGALRM, overdue)
        signal.alarm(SECONDS)
        super().startTest(test)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write("pass", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.write("fail", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.write("fail", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        # Names of subtests hold values of the run, so a failed one counts as its test.
        if err is not None:
            self.write("fail", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write("skip", test)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.write("pass", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.write("fail", test)


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Result

    def setup_databases(self, **kwargs):
        with tables_are_made():
            return super().setup_databases(**kwargs)
