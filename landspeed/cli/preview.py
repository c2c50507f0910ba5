"""``landspeed preview``: the site, served to a browser."""

from __future__ import annotations

import click

from base.paths import Paths
from landspeed.cli.options.output import emit
from landspeed.console.progress import say
from landspeed.site.serve import serving


@click.command("preview")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    metavar="N",
    help="Port to serve on; 0 chooses a free one.",
)
def preview_(port: int) -> None:
    """Serve the published site to a browser on this machine.

    Ctrl-C ends the server.

    \b
    Examples:
      landspeed preview
      landspeed preview --port 9000
    """
    with serving(Paths.find().site, port) as (address, server):
        emit(address)
        say("press Ctrl-C to stop")
        server.serve_forever()
