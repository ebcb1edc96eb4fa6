"""Run by Alembic: migrations go through the connection, and in the transaction, that the store gives it."""

from alembic import context

from pages.serving.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,  # the caller's transaction holds all of it
)
context.run_migrations()
