"""What Alembic runs for each command: with a connection that the application hands over, or none, to print SQL."""

from alembic import context

options = context.config.attributes
settings = {"target_metadata": options["metadata"], "compare_type": True, "compare_server_default": True}
if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True, output_buffer=options["output"], **settings)
else:
    context.configure(connection=options["connection"], **settings)
with context.begin_transaction():
    context.run_migrations()
