#!/usr/bin/env python3
"""The Python package's tests: python3 tests/python/run.py [WORD]

Prints a line per test: `ok NAME`, `not ok NAME why` or `skip NAME why`. WORD: those with it in their name.
"""
import sys
import unittest


class Lines(unittest.TestResult):
    def _line(self, word, test, why=""):
        name = test.id().split(".", 1)[-1]
        print(f"{word} {name}" + (f" {why}" if why else ""), flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addSkip(self, test, reason):
        self._line("skip", test, reason)

    def _failed(self, test, error):
        self._line("not ok", test, " ".join(str(error[1]).split())[:300] or error[0].__name__)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._failed(subtest, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)


loader = unittest.TestLoader()
if len(sys.argv) > 1:
    loader.testNamePatterns = [f"*{sys.argv[1]}*"]
result = loader.discover("tests/python", "test_*.py").run(Lines())
sys.exit(not result.wasSuccessful())
