"""What stands in for GitHub's own actions under act: the same promises, kept in a directory.

``$ACT_STUBS/artifacts/RUN/NAME`` are the artifacts of a workflow run, ``caches/KEY`` the caches,
``pages`` the site. As with the real ones an artifact is uploaded once under a name, its root is
the nearest directory that all its paths share, hidden files stay behind, and a cache that is there
is never written again. Python's own library and tar are enough for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(os.environ["ACT_STUBS"])
WORKSPACE = Path(os.environ["GITHUB_WORKSPACE"])


def fail(message: str) -> None:
    """End the step as a failing action does."""
    print(f"::error::{message}")
    sys.exit(1)


def artifacts(run: str = "") -> Path:
    """Where the artifacts of a workflow run are, of this one where *run* is empty."""
    return ROOT / "artifacts" / (run or os.environ["GITHUB_RUN_ID"])


def paths() -> list[Path]:
    """The lines of the input ``path``, absolute; none of our workflows has patterns there."""
    lines = (line.strip() for line in os.environ["PATHS"].splitlines())
    found = [WORKSPACE / Path(line).expanduser() for line in lines if line]
    if any("*" in str(path) for path in found):
        fail("these stand-ins know no patterns in a path")
    return found


def files(some: list[Path]) -> Iterator[Path]:
    """The files at or below *some* paths, hidden ones left out."""
    for path in some:
        for one in [path] if path.is_file() else sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in one.relative_to(path.parent).parts)
            if one.is_file() and not hidden:
                yield one


def root_of(some: list[Path]) -> Path:
    """The nearest directory that all of *some* paths are in."""
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in some]))


def upload_artifact() -> None:
    """Copy the files to the artifact of that name, which must not be there yet."""
    some, name = paths(), os.environ["NAME"]
    target = artifacts() / name
    if target.exists() and os.environ["OVERWRITE"] != "true":
        fail(f"Failed to CreateArtifact: an artifact with this name already exists: {name}")
    found = list(files(some))
    if not found:
        message = f"No files were found with the provided path: {os.environ['PATHS']}"
        if os.environ["IF_NO_FILES_FOUND"] == "error":
            fail(message)
        print(message)
        return
    shutil.rmtree(target, ignore_errors=True)
    root = root_of(some)
    part = ROOT / f"part-{os.getpid()}"
    for path in found:
        copy = part / path.resolve().relative_to(root.resolve())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)  # the real one keeps no permissions either
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)
    print(f"{len(found)} files are artifact {name}")


def download_artifact() -> None:
    """Copy one artifact, or all that the pattern matches, into the workspace."""
    home = artifacts(os.environ["RUN"])
    name, pattern = os.environ["NAME"], os.environ["PATTERN"] or "*"
    target = WORKSPACE / os.environ["DESTINATION"]
    if name and not (home / name).is_dir():
        fail(f"Unable to download artifact(s): Artifact not found for name: {name}")
    every = sorted(path.name for path in home.glob("*"))
    for one in [name] if name else [one for one in every if fnmatchcase(one, pattern)]:
        flat = bool(name) or os.environ["MERGE"] == "true"
        shutil.copytree(home / one, target if flat else target / one, dirs_exist_ok=True)
        print(f"downloaded artifact {one}")


def cache_save() -> None:
    """Keep the paths under the key; one that is there stays as it is."""
    target = ROOT / "caches" / f"{os.environ['KEY']}.tar"
    if target.exists():
        print(f"Unable to reserve cache with key {os.environ['KEY']}")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    found = [path for path in paths() if path.exists()]
    if not found:
        print("Path Validation Error: nothing to save")
        return
    # whole or not there, though its runner is killed or another saves the same
    part = ROOT / f"part-{os.getpid()}.tar"
    tar("--posix", "-cf", str(part), "--", *(os.path.relpath(path, WORKSPACE) for path in found))
    part.replace(target)
    os.utime(target, ns=(time.time_ns(), time.time_ns()))


def cache_restore() -> None:
    """Bring back what the key has, or the newest whose key begins with one of the others."""
    home, key = ROOT / "caches", os.environ["KEY"]
    found = [home / f"{key}.tar"] if (home / f"{key}.tar").is_file() else []
    for prefix in filter(None, map(str.strip, os.environ["RESTORE_KEYS"].splitlines())):
        every = (path for path in home.glob("*.tar") if path.name.startswith(prefix))
        found += sorted(every, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    matched = found[0].name.removesuffix(".tar") if found else ""
    if found:
        tar("-xf", str(found[0]))
    print(f"restored {matched}" if found else "Cache not found for input keys")
    output("cache-hit", "true" if matched == key else "")
    output("cache-matched-key", matched)


def tar(*arguments: str) -> None:
    """Run tar as the real ones do: times to the nanosecond, and names that lead anywhere."""
    subprocess.run(["tar", "-P", "-C", str(WORKSPACE), *arguments], check=True)


def deploy_pages() -> None:
    """Make the artifact the site."""
    found = artifacts() / os.environ["NAME"]
    if not found.is_dir():
        fail(f"No artifacts named {os.environ['NAME']} were found for this workflow run")
    shutil.rmtree(ROOT / "pages", ignore_errors=True)
    shutil.copytree(found, ROOT / "pages")
    output("page_url", "https://example.github.io/landspeed/")


def output(name: str, value: str) -> None:
    """Set an output of the step."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a") as stream:
        stream.write(f"{name}={value}\n")


if __name__ == "__main__":
    {
        "upload-artifact": upload_artifact,
        "download-artifact": download_artifact,
        "cache-save": cache_save,
        "cache-restore": cache_restore,
        "deploy-pages": deploy_pages,
    }[sys.argv[1]]()
