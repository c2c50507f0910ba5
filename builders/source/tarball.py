"""Release tarballs by URL, taken only when their sha256 is what the catalog says."""

from __future__ import annotations

import http.client
import logging
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from base.errors import SourceError
from base.files import digest_file, storage_errors

_log = logging.getLogger(__name__)

TIMEOUT = 10  # seconds to connect, and for each answer
_CHUNK = 1 << 18
_TALK = 5.0  # seconds between two lines of progress
_TRIES = 3
_NETWORK = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


class UnreachableError(SourceError):
    """The server did not answer: not for this file, and so for no other."""


@dataclass(frozen=True, kw_only=True)
class Download:
    """A download of one file; its name appears in *directory* only when it is complete.

    What has arrived is kept as NAME.partial and continued by the next try, by this process
    or a later one, where the server can.
    """

    url: str
    sha256: str
    directory: Path

    @property
    def path(self) -> Path:
        """Where the whole, verified file is."""
        return self.directory / Path(urlsplit(self.url).path).name

    @property
    def _partial(self) -> Path:
        return self.path.with_name(self.path.name + ".partial")

    def fetch(self) -> Path:
        """Return the verified file; raises SourceError if it cannot be had or is another one."""
        with storage_errors(f'download "{self.path.name}"', self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            if self.path.is_file() and digest_file(self.path) == self.sha256:
                return self.path
            resumed = self._partial.is_file()
            self._transfer()
            if resumed and digest_file(self._partial) != self.sha256:
                # what an earlier try left may have been the bad part
                self._partial.unlink()
                self._transfer()
            self._verify()
            self._partial.replace(self.path)
        return self.path

    def _verify(self) -> None:
        actual = digest_file(self._partial)
        if actual != self.sha256:
            self._partial.unlink()
            raise SourceError(
                f'"{self.url}" is not what the catalog says',
                detail=f"sha256 expected: {self.sha256}\nsha256 received: {actual}",
                hint="A mirror may be broken or tampered with; nothing of it was used.",
            )

    def _transfer(self) -> None:
        _log.info(f"downloading {self.url}")
        problem = ""
        for _ in range(_TRIES):
            try:
                if self._receive():
                    return
                problem = "the connection ended early"
            except urllib.error.HTTPError as error:
                if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    raise self._failed(f"HTTP {error.code} {error.reason}") from error
                self._partial.unlink(missing_ok=True)
            except (urllib.error.URLError, UnicodeError) as error:
                why = str(getattr(error, "reason", error))
                raise UnreachableError(f'could not reach "{self.url}"', detail=why) from error
            except _NETWORK as error:
                problem = str(error) or type(error).__name__
        raise self._failed(problem)

    def _failed(self, why: str) -> SourceError:
        return SourceError(f'could not download "{self.url}"', detail=why)

    def _receive(self) -> bool:
        """Append what the server sends to the partial file; whether that was all of it."""
        have = self._partial.stat().st_size if self._partial.is_file() else 0
        request = urllib.request.Request(self.url)  # noqa: S310 - https, http, file: see config
        if have and not self.url.startswith("file:"):
            request.add_header("Range", f"bytes={have}-")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            continued = getattr(answer, "status", None) == http.HTTPStatus.PARTIAL_CONTENT
            have = have if continued else 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            with self._partial.open("ab" if continued else "wb") as stream:
                got = have + self._copy(answer, stream, have, total)
        return total is None or got == total

    def _copy(self, answer: IO[bytes], stream: IO[bytes], have: int, total: int | None) -> int:
        copied, spoken = 0, time.monotonic()
        while chunk := _read(answer):
            stream.write(chunk)
            copied += len(chunk)
            if time.monotonic() - spoken > _TALK:
                spoken = time.monotonic()
                of = f" of {total / 1e6:.1f}" if total else ""
                _log.info(f"{self.path.name}: {(have + copied) / 1e6:.1f}{of} MB")
        stream.flush()
        os.fsync(stream.fileno())
        return copied


def _read(answer: IO[bytes]) -> bytes:
    try:
        return answer.read(_CHUNK)
    except OSError as error:
        # of TLS or of a network that went away: not to be taken for the disk's
        raise ConnectionError(str(error)) from error
