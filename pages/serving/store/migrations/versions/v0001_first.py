"""The first tables: blobs, projects, data sets, scenarios, people, links, history."""

import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0001", None, None, None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "blob",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "chunk",
        sa.Column("hash", sa.String(64), sa.ForeignKey("blob.hash", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("note", sa.String(4000), nullable=False),
        sa.Column("rules", sa.JSON, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("updated", sa.Double, nullable=False, index=True),
    )
    op.create_table(
        "dataset",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("token", sa.String(64), nullable=False, unique=True),
        sa.Column("hash", sa.String(64), sa.ForeignKey("blob.hash"), nullable=False, index=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("people", sa.String(120), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        _of_project(nullable=True),
        sa.Column("origin", sa.String(32), nullable=False),
        sa.Column("person", sa.String(120), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("used", sa.Double, nullable=False),
    )
    op.create_table(
        "scenario",
        sa.Column("id", sa.String(32), primary_key=True),
        _of_project(),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("note", sa.String(4000), nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("figures", sa.JSON, nullable=False),
        sa.Column("pictures", sa.JSON, nullable=False),
        sa.Column("plan", sa.String(64), sa.ForeignKey("blob.hash"), nullable=False, index=True),
        sa.Column("parent", sa.String(32), nullable=False),
        sa.Column("author", sa.String(120), nullable=False),
        sa.Column("made_with", sa.String(40), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("updated", sa.Double, nullable=False),
        sa.Column("deleted", sa.Double),
    )
    op.create_table(
        "member",
        sa.Column(
            "project_id", sa.String(32), sa.ForeignKey("project.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("person", sa.String(120), primary_key=True, index=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("added", sa.Double, nullable=False),
    )
    op.create_table(
        "share",
        sa.Column("id", sa.String(32), primary_key=True),
        _of_project(),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("label", sa.String(120), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.String(32), primary_key=True),
        _of_project(),
        sa.Column("scenario", sa.String(120), nullable=False),
        sa.Column("author", sa.String(120), nullable=False),
        sa.Column("what", sa.String(40), nullable=False),
        sa.Column("detail", sa.String(4000), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )


def _of_project(*, nullable: bool = False) -> sa.Column[str]:
    target = sa.ForeignKey("project.id", ondelete="CASCADE")
    return sa.Column("project_id", sa.String(32), target, nullable=nullable, index=True)
