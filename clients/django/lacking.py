"""Extensions, types and collations that a server lacks cost the tests that use them, not all 10,000: the tables of all labels
are made before the first test. On a server with everything, nothing here does anything.

- Two tables have an ICU collation. Without one they are made with "C"; a test that names the collation itself fails. The
  name is read when the models are loaded, so the settings change it, before that.
- The first migration of postgres_tests makes eight extensions, the second the tables. What cannot be made is left out."""

from contextlib import contextmanager
from unittest import mock

import psycopg
from django.db.backends.postgresql.features import DatabaseFeatures
from django.db.utils import DatabaseError

COLLATIONS = DatabaseFeatures.test_collations


def models_are_loaded(database):
    try:
        with psycopg.connect(dbname=database) as server:
            server.execute("""select 'a' < 'b' collate "sv-x-icu" """)
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedObject):
        DatabaseFeatures.test_collations = {use: "C" for use in COLLATIONS}


@contextmanager
def tables_are_made():
    from django.contrib.postgres.operations import CreateExtension
    from django.db.migrations import CreateModel

    def forgiving(operation):
        forwards = operation.database_forwards

        def database_forwards(self, app_label, schema_editor, *states):
            if app_label != "postgres_tests":
                return forwards(self, app_label, schema_editor, *states)
            later = list(schema_editor.deferred_sql)
            server = schema_editor.connection
            point = server.savepoint()
            try:
                forwards(self, app_label, schema_editor, *states)
                # References to other tables, which Django makes after all tables.
                while len(schema_editor.deferred_sql) > len(later):
                    schema_editor.execute(schema_editor.deferred_sql.pop(), None)
            except DatabaseError as error:
                print(f"left out: {app_label}: {self.describe()}: {error}".splitlines()[0])
                server.savepoint_rollback(point)
                schema_editor.deferred_sql[:] = later

        return mock.patch.object(operation, "database_forwards", database_forwards)

    with forgiving(CreateExtension), forgiving(CreateModel):
        yield
    DatabaseFeatures.test_collations = COLLATIONS
