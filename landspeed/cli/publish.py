"""``landspeed publish``: make the site from the records."""

from __future__ import annotations

import click

from base.paths import Paths
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import emit
from landspeed.console.github_log import put_outputs
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.site.update import has_dots, update_site


@click.command("publish")
@flag("--if-any", "Exit with 0 even if there is nothing to publish yet.")
def publish_(*, if_any: bool) -> None:
    """Publish the site from the records.

    Also writes the result files of asv, which are derived from the records.

    \b
    Examples:
      landspeed publish
    """
    session = Session()
    session.records.seal()
    if if_any and not has_dots(session):
        put_outputs({"published": "false"})
        say("nothing to publish yet")
        return
    publish_now(session)
    put_outputs({"published": "true"})
    tell_where(session.paths)


def publish_now(session: Session) -> None:
    """Bring the site up to date with the records, and say so."""
    site, points = update_site(session)
    say(f"published {points} points at {site / 'index.html'}")


def tell_where(paths: Paths) -> None:
    """Print where the site is, and how to see it."""
    say('to see it: "make preview" (landspeed preview)')
    emit(str(paths.site / "index.html"))
