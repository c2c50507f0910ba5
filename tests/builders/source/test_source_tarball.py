"""Downloads: verified, continued, restarted, and never half taken for whole."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from base.errors import SourceError, StorageError
from builders.source.tarball import Download, UnreachableError

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@contextmanager
def serving(*cuts: int, ranges: bool = True, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server of CONTENT whose n-th answer ends after *cuts*[n] bytes; (URL, ranges asked)."""
    asked: list[str] = []
    left = list(cuts)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and ranges else 0
            body = CONTENT[start:]
            self.send_response(206 if start else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: left.pop(0)] if left else body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/postgresql-17.1.tar.bz2", asked
    finally:
        server.shutdown()
        server.server_close()


def download(url: str, directory: Path, *, sha256: str = SHA256) -> Download:
    return Download(url=url, sha256=sha256, directory=directory)


def test_a_download_is_verified_and_then_has_its_name(tmp_path: Path) -> None:
    with serving() as (url, asked):
        path = download(url, tmp_path).fetch()
        assert path == tmp_path / "postgresql-17.1.tar.bz2"
        assert path.read_bytes() == CONTENT
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        download(url, tmp_path).fetch()
        assert len(asked) == 1


def test_a_download_that_is_not_what_it_should_be_is_refused(tmp_path: Path) -> None:
    with serving() as (url, _), pytest.raises(SourceError, match="not what the catalog") as caught:
        download(url, tmp_path, sha256="0" * 64).fetch()
    assert "0" * 64 in caught.value.detail
    assert SHA256 in caught.value.detail
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_ends_early_is_continued(tmp_path: Path) -> None:
    with serving(300_000, 300_000) as (url, asked):
        assert download(url, tmp_path).fetch().read_bytes() == CONTENT
    assert asked == ["", "bytes=300000-", "bytes=600000-"]


def test_a_server_that_cannot_continue_is_asked_for_all(tmp_path: Path) -> None:
    with serving(300_000, ranges=False) as (url, _):
        assert download(url, tmp_path).fetch().read_bytes() == CONTENT


def test_a_download_cut_short_for_good_is_continued_by_the_next_process(tmp_path: Path) -> None:
    with serving(*[100_000] * 3) as (url, asked):
        with pytest.raises(SourceError, match="could not download"):
            download(url, tmp_path).fetch()
        assert [p.name for p in tmp_path.iterdir()] == ["postgresql-17.1.tar.bz2.partial"]
        assert download(url, tmp_path).fetch().read_bytes() == CONTENT
        assert asked[-1] == "bytes=300000-"


def test_a_bad_beginning_left_by_an_earlier_try_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "postgresql-17.1.tar.bz2.partial").write_bytes(b"garbage")
    with serving() as (url, asked):
        assert download(url, tmp_path).fetch().read_bytes() == CONTENT
    assert asked == ["bytes=7-", ""]


def test_a_whole_partial_file_needs_no_more_bytes(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    source = tmp_path / "pool" / "p.tar.bz2"
    source.write_bytes(CONTENT)
    (tmp_path / "p.tar.bz2.partial").write_bytes(CONTENT)
    assert download(source.as_uri(), tmp_path).fetch().read_bytes() == CONTENT


def test_a_missing_file_is_an_error_with_the_code(tmp_path: Path) -> None:
    with serving(status=404) as (url, _), pytest.raises(SourceError) as caught:
        download(url, tmp_path).fetch()
    assert "404" in caught.value.detail
    assert not isinstance(caught.value, UnreachableError)


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with serving() as (url, _):
        pass
    with pytest.raises(UnreachableError, match="could not reach"):
        download(url, tmp_path).fetch()


def test_a_network_that_goes_away_is_not_taken_for_the_disk(tmp_path, monkeypatch):
    def lost(self: HTTPResponse, *_: object) -> bytes:
        raise OSError(1, "[SSL] record layer failure")

    with serving() as (url, asked):
        monkeypatch.setattr(HTTPResponse, "read", lost)
        with pytest.raises(SourceError, match="could not download") as caught:
            download(url, tmp_path).fetch()
    assert len(asked) == 3
    assert "record layer failure" in caught.value.detail


def test_a_url_that_no_name_server_can_be_asked_for_is_unreachable(tmp_path):
    with pytest.raises(UnreachableError, match="could not reach"):
        download(f"http://{'a' * 80}.org/postgresql-17.1.tar.bz2", tmp_path).fetch()


def test_a_directory_that_cannot_be_written_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", refuses)
    with pytest.raises(StorageError, match="could not download") as caught:
        download("file:///nowhere", tmp_path / "new").fetch()
    assert "LANDSPEED_CACHE" in caught.value.hint
