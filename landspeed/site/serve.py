"""A local web server for the site, because browsers load no data from file:// pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from base.errors import PublishError, UsageError


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def serving(site: Path, port: int) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    """Yield the address and the server of *site* on 127.0.0.1 at *port* (0: any free one).

    PublishError if there is no site, UsageError if the port is in use.
    """
    if not (site / "index.html").is_file():
        raise PublishError(
            "no site is published yet",
            detail=f"{site} has no index.html.",
            hint='Make one with "make demo", or with "landspeed publish" from recorded runs.',
        )
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(site)))
    except OSError as error:
        raise UsageError(
            f"could not listen on port {port}",
            detail=f"127.0.0.1:{port}: {error.strerror}",
            hint="Choose another one: landspeed preview --port 0",
        ) from error
    with server:
        yield f"http://127.0.0.1:{server.server_port}/", server
