"""Settings of the run: two databases of the server that the environment names, and a runner that writes our report."""

import os

from lacking import models_are_loaded


def database(name):
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["PGHOST"],
        "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"],
        "NAME": os.environ["PGDATABASE"],
        "TEST": {"NAME": f"{os.environ['PGDATABASE']}_{name}"},
    }


DATABASES = {"default": database("default"), "other": database("other")}
SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
# Tests that want rows back read all tables of the labels with migrations, also those that were left out.
TEST_NON_SERIALIZED_APPS = ["postgres_tests"]
TEST_RUNNER = "report.Runner"

models_are_loaded(os.environ["PGDATABASE"])
