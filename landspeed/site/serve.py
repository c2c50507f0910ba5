"""A local web server for the site, because browsers load no data from file:// pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from base.errors import PublishError, UsageError

_HERE = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")


class _Local(SimpleHTTPRequestHandler):
    def send_head(self) -> io.BytesIO | BinaryIO | None:
        # A page elsewhere may point a name of its own at this address (DNS rebinding) and read the
        # site: its browser then sends that name.
        if not _HERE.fullmatch(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        return super().send_head()

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
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Local, directory=str(site)))
    except OSError as error:
        raise UsageError(
            f"could not listen on port {port}",
            detail=f"127.0.0.1:{port}: {error.strerror}",
            hint="Choose another one: landspeed preview --port 0",
        ) from error
    with server:
        yield f"http://127.0.0.1:{server.server_port}/", server
