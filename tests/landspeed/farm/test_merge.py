"""Results from one job to another: what is new is packed, and what is packed is not trusted."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from io import BytesIO

import pytest

from base.errors import UsageError
from landspeed.farm.merge import is_result
from landspeed.farm.tar import pack_files, unpack_files
from tests.kits.farm.farmer_kit import Farmer, farmer, remote
from tests.kits.verbs import called

__all__ = ["farmer", "remote"]  # fixtures


def landspeed(farmer: Farmer, *arguments: str) -> subprocess.CompletedProcess[str]:
    farmer.paths.project.mkdir(exist_ok=True)
    (farmer.paths.project / "asv.conf.json").write_text("{}")
    own = {
        "LANDSPEED_PROJECT": str(farmer.paths.project),
        "LANDSPEED_CACHE": str(farmer.paths.cache),
        "LANDSPEED_RESULTS_REMOTE": farmer.branch.remote.url,
    }
    return called(list(arguments), os.environ | own)


def test_a_job_hands_on_only_what_the_branch_does_not_have(farmer, tmp_path):
    first, job, last = farmer("first"), farmer("job"), farmer("last")
    first.measure(5)
    assert "pushed 1 file\n" in landspeed(first, "farm", "results", "push").stderr
    assert "1 file new here" in landspeed(job, "farm", "results", "fetch").stderr
    job.measure(2)
    packed = tmp_path / "incoming" / "one" / "results.tar"
    assert landspeed(job, "farm", "results", "pack", str(packed)).stdout.strip() == str(packed)
    with tarfile.open(packed) as tar:
        assert [name.split("/")[2] for name in tar.getnames()] == ["job"]
    done = landspeed(last, "farm", "results", "unpack", str(tmp_path / "incoming"), "nowhere")
    assert "1 file new here, from 1 packed" in done.stderr
    assert last.count == 2
    done = landspeed(last, "farm", "results", "push", "--json")
    assert json.loads(done.stdout) == {"pushed": 1}
    assert last.count == 7


def test_unpacking_what_no_job_made_is_nothing(farmer):
    done = landspeed(farmer("one"), "farm", "results", "unpack", "nowhere")
    assert done.returncode == 0
    assert "nothing is there to unpack" in done.stderr


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside.json", tarfile.REGTYPE),
        ("/etc/outside.json", tarfile.REGTYPE),
        ("records/twins/pipe.json", tarfile.FIFOTYPE),
        ("records/twins/link.json", tarfile.LNKTYPE),
        ("records/loose/x.json", tarfile.REGTYPE),
    ],
)
def test_what_leads_out_of_the_results_is_refused(name, kind, tmp_path):
    file = tmp_path / "evil.tar"
    with tarfile.open(file, "w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member, BytesIO())
    with pytest.raises(UsageError, match="was rejected"):
        unpack_files(file, tmp_path / "target", is_result)
    assert not (tmp_path / "outside.json").exists()


def test_nothing_is_written_through_a_link(tmp_path):
    file = tmp_path / "evil.tar"
    with tarfile.open(file, "w") as tar:
        tar.addfile(tarfile.TarInfo("a/victim"), BytesIO())
        link = tarfile.TarInfo("a/b")
        link.type, link.linkname = tarfile.SYMTYPE, "victim"
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo("a/b/c"), BytesIO())
    with pytest.raises(UsageError, match="behind a link"):
        unpack_files(file, tmp_path / "target", lambda _: True)


@pytest.mark.parametrize("content", [b"", b"no tar at all", b"\x1f\x8b broken"])
def test_a_file_that_is_no_archive_is_said_to_be_none(content, tmp_path):
    file = tmp_path / "file.tar"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="damaged or not an archive"):
        unpack_files(file, tmp_path / "target", is_result)


def test_an_archive_is_whole_or_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        pack_files(tmp_path / "a.tar", tmp_path, ["missing"])
    assert list(tmp_path.iterdir()) == []
