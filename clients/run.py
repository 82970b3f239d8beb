#!/usr/bin/env python3
"""Third-party client suites, unmodified, on PostgreSQL 15 and on mote: `make clients`, `make clients SUITE=asyncpg`.

A folder beside this file is a suite (docs/design/0038-clients.md): `suite.toml` says what it is and which version,
`prepare.sh DIRECTORY` fetches it once, `run.sh DIRECTORY REPORT` runs it on the server that PGHOST, PGPORT, PGUSER and
PGDATABASE name, and `known.txt` gives the reasons of differences. This program runs suites, compares what they report,
and writes docs/clients.md. It fails when a difference has no reason, and when a reason has no difference.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as xml
from fnmatch import fnmatchcase
from pathlib import Path

from servers import Mote, Postgres

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = ROOT / "target" / "clients"
PAGE = ROOT / "docs" / "clients.md"
# Outcomes of a test. "missing": it was not reported, because the program that runs it ended first.
PASS, FAIL, SKIP, MISSING = "pass", "fail", "skip", "missing"


class Suite:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.about = tomllib.loads((folder / "suite.toml").read_text())
        self.directory = WORK / self.name / self.about["version"]
        self.reasons, self.known, self.always = read_known(folder / "known.txt")

    def reason(self, name):
        """The key of the first reason that known.txt gives for a test, or None."""
        return next((reason for pattern, reason in self.known if fits(name, pattern)), None)

    def prepare(self):
        """Fetches the suite; the mark is written last, so that an interrupted fetch is begun again."""
        mark = self.directory / "prepared"
        if mark.exists():
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(["bash", self.folder / "prepare.sh", self.directory], check=True)
        mark.touch()

    def run(self, server):
        """Runs the suite in a database of its own; returns the outcome of each test by name."""
        report = self.directory / f"{server.name}.report"
        report.unlink(missing_ok=True)
        database = "clients_" + self.name
        for statement in (f"drop database if exists {database}", f"create database {database}"):
            psql(server, "postgres", statement)
        for statement in self.about.get("setup", []):
            psql(server, database, statement, must=False)
        environment = os.environ | {
            "PGHOST": server.host,
            "PGPORT": str(server.port),
            "PGUSER": "postgres",
            "PGDATABASE": database,
        }
        with open(self.directory / f"{server.name}.log", "w") as log:
            # A suite's own exit status says that a test failed, which the report says too.
            subprocess.run(
                ["bash", self.folder / "run.sh", self.directory, report],
                env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                timeout=self.about.get("timeout", 3600), check=False,
            )
        if not report.exists():
            sys.exit(f"clients: {self.name} on {server.name} left no report: see {log.name}")
        outcomes = {}
        for name, outcome in READERS[self.about["report"]](report):
            note(outcomes, re.sub(self.about.get("nameless", "$^"), "", name), outcome)
        return outcomes


def psql(server, database, statement, must=True):
    command = ["psql", "-qX", "-h", server.host, "-p", str(server.port), "-U", "postgres", "-d", database]
    done = subprocess.run(command + ["-v", "ON_ERROR_STOP=1", "-c", statement], capture_output=True, text=True)
    if done.returncode != 0:
        complaint = f"clients: {statement} on {server.name}: {done.stderr.strip()}"
        if must:
            sys.exit(complaint)
        print(complaint, file=sys.stderr)


def read_junit(report):
    """JUnit's XML, which pytest and Maven's surefire write."""
    for case in xml.parse(report).getroot().iter("testcase"):
        tags = {child.tag for child in case}
        outcome = FAIL if tags & {"failure", "error"} else SKIP if "skipped" in tags else PASS
        yield f"{case.get('classname')}::{case.get('name')}", outcome


def read_go(report):
    """The events that `go test -json` writes, one a line."""
    for line in report.read_text().splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if "Test" in event and event["Action"] in (PASS, FAIL, SKIP):
            yield f"{event['Package']}::{event['Test']}", event["Action"]


def read_lines(report):
    """`outcome name` lines, from an application of our own."""
    for line in report.read_text().splitlines():
        outcome, name = line.split(" ", 1)
        yield name, outcome


def note(outcomes, name, outcome):
    """A name that is reported twice (a test and its clean-up) has passed when both have."""
    # Addresses and spaces would make a name differ from run to run, and break its line in known.txt.
    name = re.sub(r"0x[0-9a-f]{6,}", "0x", name).replace(" ", "_")
    outcomes[name] = FAIL if FAIL in (outcomes.get(name), outcome) else outcome


READERS = {"junit": read_junit, "go": read_go, "lines": read_lines}


def read_known(path):
    """`reason: explanation` lines, then `reason pattern` lines, behind "sometimes" those of tests that pass by luck; returns
    the explanations, (pattern, reason) pairs, and the patterns that must name a difference in every run."""
    reasons, known, always = {}, [], []
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line or line.startswith("#"):
            continue
        first, rest = line.split(" ", 1)
        if first.endswith(":"):
            reasons[first[:-1]] = rest
            continue
        sometimes = first == "sometimes"
        if sometimes:
            first, rest = rest.split(" ", 1)
        if first not in reasons:
            sys.exit(f"{path}: no explanation of {first}")
        known.append((rest, first))
        if not sometimes:
            always.append(rest)
    return reasons, known, always


def fits(name, pattern):
    """Whether a name fits a pattern in which only * is special: parameters of tests stand in brackets."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def compare(suite, expected, actual):
    passing = [name for name, outcome in expected.items() if outcome == PASS]
    differences = {name: actual.get(name, MISSING) for name in passing if actual.get(name) != PASS}
    result = {
        "version": suite.about["version"],
        "tests": len(expected),
        "postgres": len(passing),
        "mote": len(passing) - len(differences),
        "differences": differences,
    }
    unexplained = sorted(name for name in differences if suite.reason(name) is None)
    stale = [pattern for pattern in suite.always if not any(fits(name, pattern) for name in differences)]
    for name in unexplained:
        print(f"{suite.name}: {differences[name]}, no reason given: {name}")
    for pattern in stale:
        print(f"{suite.name}: known.txt names no difference: {pattern}")
    return result, not unexplained and not stale


def read_page(path):
    """What the page says of each suite: the row of its table, and its section."""
    text = path.read_text() if path.exists() else ""
    rows = {name: line for line, name in re.findall(r"^(\| \[([^]]+)\]\(#.*)$", text, re.MULTILINE)}
    sections = {part.split("\n", 1)[0]: ("## " + part).rstrip("\n").split("\n") for part in text.split("\n## ")[1:]}
    return {name: (row, sections[name]) for name, row in rows.items() if name in sections}


def page(suites, results, servers, before):
    """The page: one table of all suites, then each suite's differences by reason. A suite without a result keeps what the
    page said of it before."""
    lines = [
        "# Client suites on mote",
        "",
        "Written by `make clients`: suites of clients, unmodified and at fixed versions, run on PostgreSQL 15 and on mote. Counted is",
        "what passes on PostgreSQL; the reasons of differences stand in `clients/SUITE/known.txt`.",
        "",
        *(f"- {label}: {version}" for label, version in servers.items()),
        "",
        "| suite | version | tests | pass on PostgreSQL 15 | of these on mote | |",
        "|---|---|---|---|---|---|",
    ]
    shown = [told(suite, results[suite.name]) if suite.name in results else before[suite.name]
             for suite in suites if suite.name in results or suite.name in before]
    lines += [row for row, _ in shown]
    for _, section in shown:
        lines += ["", *section]
    return "\n".join(lines) + "\n"


def told(suite, r):
    """What the page says of a suite by its result: a row and a section, as read_page reads them."""
    share = 100 * r["mote"] / r["postgres"] if r["postgres"] else 0
    # Rounded down: 100 % is said only of all.
    percent = f"{int(share * 10) / 10:.1f} %"
    row = f"| [{suite.name}](#{suite.name}) | {r['version']} | {r['tests']} | {r['postgres']} | {r['mote']} | {percent} |"
    return row, [f"## {suite.name}", "", suite.about["title"], "", *differences_of(suite, r["differences"])]


def differences_of(suite, differences):
    if not differences:
        return ["No differences."]
    by_reason = {}
    for name in sorted(differences):
        by_reason.setdefault(suite.reason(name), []).append(name)
    lines = ["| reason | tests | |", "|---|---|---|"]
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        explanation = suite.reasons.get(reason, "not explained")
        lines.append(f"| {reason or '-'} | {len(names)} | {explanation} |")
    lines += ["", *(f"- `{name}` ({differences[name]}): {suite.reason(name)}" for name in sorted(differences))]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="*", help="folders beside this program; all without one")
    parser.add_argument("--mote", type=Path, default=ROOT / "target" / "release" / "mote", help="the binary")
    parser.add_argument("--list", action="store_true", help="names the suites and ends")
    arguments = parser.parse_args()
    every = [Suite(toml.parent) for toml in sorted(HERE.glob("*/suite.toml"))]
    names = [suite.name for suite in every]
    if arguments.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in arguments.suites if name not in names]
    if unknown:
        sys.exit(f"clients: no suite {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [suite for suite in every if not arguments.suites or suite.name in arguments.suites]

    # Results of suites that do not run now are kept, so that the page shows all of them; where they are not (another
    # checkout), the page's own lines are.
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    good = True
    with Postgres(WORK / "postgres") as postgres, Mote(arguments.mote, WORK / "mote") as mote:
        for suite in chosen:
            suite.prepare()
            expected, actual = suite.run(postgres), suite.run(mote)
            results[suite.name], agrees = compare(suite, expected, actual)
            good &= agrees
            r = results[suite.name]
            print(f"{suite.name} {r['version']}: {r['postgres']} of {r['tests']} pass on PostgreSQL, {r['mote']} of these on mote")
            kept.write_text(json.dumps(results, indent=1))
        versions = {"reference": postgres.version(), "server": mote.version()}
    PAGE.write_text(page(every, results, versions, read_page(PAGE)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
