"""The two servers of a run: a PostgreSQL 15 cluster and a mote, each new, on a free port, and gone with the run."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

# Where Debian puts the server; MOTE_IT_POSTGRES_BIN names another place, as in the tests.
BINARIES = Path(os.environ.get("MOTE_IT_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
START_SECONDS = 60


class Server:
    """A server that was started, or one that runs already where an address is given."""

    name = ""
    variable = ""

    def __init__(self, data):
        self.data = data
        self.process = None
        given = os.environ.get(self.variable)
        if given:
            address = urlsplit("//" + given)
            self.host, self.port = address.hostname, address.port
        else:
            self.host, self.port = "127.0.0.1", free_port()

    def __enter__(self):
        if not os.environ.get(self.variable):
            shutil.rmtree(self.data, ignore_errors=True)
            self.data.parent.mkdir(parents=True, exist_ok=True)
            self.start()
        self.await_answer()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()
            shutil.rmtree(self.data, ignore_errors=True)

    def version(self):
        return self.ask("select version()")

    def ask(self, query):
        command = ["psql", "-AtqX", "-h", self.host, "-p", str(self.port), "-U", "postgres", "-c", query]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def await_answer(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.ask("select 1")
            except subprocess.CalledProcessError as error:
                ended = self.process and self.process.poll() is not None
                if ended or time.monotonic() > deadline:
                    self.__exit__()
                    sys.exit(f"clients: {self.name} does not answer: {error.stderr}")
                time.sleep(0.1)


class Postgres(Server):
    name = "PostgreSQL"
    variable = "MOTE_CLIENTS_POSTGRES"

    def start(self):
        if not (BINARIES / "initdb").exists():
            sys.exit("clients: PostgreSQL 15's server is missing: apt-get install postgresql-15, or set MOTE_IT_POSTGRES_BIN")
        self.data.mkdir()
        # PostgreSQL refuses to run as root, so root hands the cluster to the user whom Debian's package creates.
        user = {"user": "postgres"} if getpass.getuser() == "root" else {}
        if user:
            shutil.chown(self.data, "postgres")
        initdb = [BINARIES / "initdb", "-D", self.data, "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
        server = [BINARIES / "postgres", "-D", self.data, "-p", str(self.port), "-k", "", "-c", "fsync=off"]
        self.process = subprocess.Popen(server + PREPARED, stderr=open_log(self.data), cwd="/", **user)


class Mote(Server):
    name = "mote"
    variable = "MOTE_CLIENTS_MOTE"

    def __init__(self, binary, data):
        super().__init__(data)
        self.binary = binary

    def start(self):
        if not self.binary.exists():
            sys.exit(f"clients: {self.binary} is missing: make build")
        server = [self.binary, "serve", "--data", self.data, "--listen", f"{self.host}:{self.port}"]
        self.process = subprocess.Popen(server, stdout=open_log(self.data), stderr=subprocess.STDOUT)


# Tests of two-phase commit want slots.
PREPARED = ["-c", "max_prepared_transactions=20"]


def open_log(data):
    return open(data.with_suffix(".log"), "w")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
