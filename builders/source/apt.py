"""An apt of our own: its lists and configuration apart from the system's, which stays untouched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_string
from pathlib import Path

from base.errors import SourceError, StorageError
from base.files import read_text, storage_errors, write_atomic

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEFAULT_MIRROR = "https://deb.debian.org/debian"
# A mirror that dropped an archived suite is no reason to ask again every time.
_GONE = re.compile(r"404\s+Not Found|does not have a Release file")
# Seconds for one call: apt's own timeouts do not end a mirror that sends a byte now and then.
LIMIT = 1800
_URI = re.compile(r"(?:https?|file|mirror\+\S+?)://\S+")


@dataclass(frozen=True, kw_only=True)
class Apt:
    """An isolated apt state below *directory* that knows the sources of *suites*.

    Of the system's configuration only ``Acquire::…`` (proxies, timeouts) is taken over;
    its update hooks, which clean or notify the system, are not.
    """

    directory: Path
    mirror: str
    suites: tuple[str, ...]
    keyring: Path = field(default_factory=lambda: KEYRING)

    def update(self) -> str:
        """Fetch the lists of sources; what went wrong, or "" when all is well or gone for good."""
        self._require()
        with storage_errors("set up apt's directories", self.directory):
            self._write_configuration()
        done = self._run("apt-get", "update", "-o", "APT::Update::Error-Mode=any")
        said = _complaints(done)
        lasting = [line for line in said if not _GONE.search(line)]
        if done.returncode == 0 or (said and not lasting):
            return ""
        return "\n".join((lasting or said)[-3:]) or f"apt-get update ended with {done.returncode}"

    def lists(self) -> Iterator[tuple[str, bytes]]:
        """(suite, content) of each list of sources that is here."""
        form = "$(RELEASE)\t$(FILENAME)"
        done = self._run("apt-get", "indextargets", "--format", form, "Created-By: Sources")
        for line in sorted(set(done.stdout.decode().splitlines())):
            suite, _, name = line.partition("\t")
            if suite in self.suites:
                content = self._run(_helper(), "cat-file", name).stdout
                if content:
                    yield suite, content

    def download(self, package: str, version: str, file: str, into: Path) -> Path:
        """Return the upstream tarball *file* of source *package* at *version*, verified by apt."""
        self._require()
        with storage_errors(f'download "{file}"', into):
            into.mkdir(parents=True, exist_ok=True)
        options = ("--download-only", "--tar-only", "--only-source")
        done = self._run("apt-get", "source", *options, f"{package}={version}", directory=into)
        if done.returncode or not (into / file).is_file():
            said = "\n".join(_complaints(done)[-3:])
            if "No space left" in said:
                raise StorageError(
                    f'could not download "{file}"',
                    detail=said,
                    hint="Free some space, or put the cache elsewhere with LANDSPEED_CACHE.",
                )
            raise SourceError(f'apt could not download "{file}"', detail=said)
        return into / file

    def _require(self) -> None:
        if shutil.which("apt-get") is None:
            raise SourceError(
                "apt-get is not installed",
                hint="Debian's sources need apt; configure another one in landspeed.toml.",
            )
        if not self.keyring.is_file():
            raise SourceError(
                f'the keyring "{self.keyring}" is missing',
                detail="Without it nothing that a Debian mirror says can be verified.",
                hint='Install it: "apt-get install debian-archive-keyring".',
            )

    def _write_configuration(self) -> None:
        for name in ("lists/partial", "state", "cache/archives/partial"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "state" / "status").touch()
        entry = f"deb-src [signed-by={self.keyring}] {self.mirror}"
        lines = [f"{entry} {suite} main" for suite in self.suites]
        write_atomic(self.directory / "sources.list", "\n".join(lines) + "\n")
        write_atomic(self.directory / "apt.conf", self._configuration())

    def _configuration(self) -> str:
        settings = {
            "Dir::Etc": str(self.directory),
            "Dir::Etc::Main": "no.conf",
            "Dir::Etc::Parts": "no.conf.d",
            "Dir::Etc::SourceList": str(self.directory / "sources.list"),
            "Dir::Etc::SourceParts": "no.list.d",
            "Dir::Etc::Preferences": "no.preferences",
            "Dir::Etc::PreferencesParts": "no.preferences.d",
            "Dir::State": str(self.directory / "state"),
            "Dir::State::lists": str(self.directory / "lists"),
            "Dir::State::status": str(self.directory / "state" / "status"),
            "Dir::Cache": str(self.directory / "cache"),
            "Acquire::Languages": "none",
            "Acquire::PDiffs": "false",
            "Acquire::Retries": "1",
            "Acquire::http::ConnectionAttemptDelayMsec": "250",
            "Acquire::http::Timeout": "10",
            "Acquire::https::Timeout": "10",
            "APT::Sandbox::User": "root",
        }
        return "".join(
            [*_system_acquire(), *(f'{name} "{value}";\n' for name, value in settings.items())]
        )

    def _run(self, *argv: str, directory: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        environment = os.environ | {
            "APT_CONFIG": str(self.directory / "apt.conf"),
            "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        try:
            return subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                cwd=directory or self.directory,
                env=environment,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            said = f"E: {argv[0]} did not end within {LIMIT // 60} minutes"
            return subprocess.CompletedProcess(argv, 124, b"", said.encode())


def debian_mirror(etc: Path = Path("/etc")) -> str:
    """Return the mirror this machine gets Debian from if it is a Debian, else the default one."""
    about = read_text(etc / "os-release")
    codename = re.search(r"^VERSION_CODENAME=\"?([a-z]+)", about, re.MULTILINE)
    if not re.search(r"^ID=\"?debian\"?$", about, re.MULTILINE) or codename is None:
        return DEFAULT_MIRROR
    apt = etc / "apt"
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    for path in files:
        for line in read_text(path).splitlines():
            match = re.match(r"\s*deb(?:-src)?\s+(?:\[.*?\]\s+)?(\S+)\s+(\S+)\s", line + " ")
            if match and match[2] == codename[1] and _URI.fullmatch(match[1]):
                return match[1].rstrip("/")
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", read_text(path)):
            # deb822(5) has the syntax of mail headers, and comments
            fields = message_from_string(
                re.sub(r"^#.*\n?", "", stanza, flags=re.MULTILINE).lstrip()
            )
            uris = [uri for uri in fields.get("URIs", "").split() if _URI.fullmatch(uri)]
            is_enabled = fields.get("Enabled", "yes").lower() not in ("no", "false", "0")
            if is_enabled and codename[1] in fields.get("Suites", "").split() and uris:
                return uris[0].rstrip("/")
    return DEFAULT_MIRROR


def _system_acquire() -> list[str]:
    """Return the system's Acquire settings, as lines of an apt.conf."""
    if shutil.which("apt-config") is None:
        return []
    done = subprocess.run(
        ["apt-config", "dump"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    lines = done.stdout.decode(errors="replace").splitlines(keepends=True)
    unwanted = ("Acquire::Languages", "Acquire::IndexTargets", 'Acquire "')
    return [line for line in lines if line.startswith("Acquire") and not line.startswith(unwanted)]


def _helper() -> str:
    return shutil.which("apt-helper") or "/usr/lib/apt/apt-helper"


def _complaints(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    return [line for line in lines if line.startswith(("E:", "W:", "Err:"))]
