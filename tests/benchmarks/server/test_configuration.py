"""Profiles hold for every version, and are sized from the machine."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UsageError
from benchmarks.server.configuration import (
    _TOML,
    Configuration,
    Setting,
    difference,
    is_profile,
    parse_size,
    profile_names,
    shared_buffers_span,
)
from benchmarks.workloads.dialect import Dialect
from tests.kits.servers.known_settings import RECORDED

GIB = 1 << 30
VERSIONS = list(RECORDED)


def settings(profile: str, version: str, memory: int = 16 * GIB) -> dict[str, str]:
    return Configuration.named(profile).settings(RECORDED[version], memory)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("profile", profile_names())
def test_every_profile_has_settings_for_every_version(profile: str, version: str) -> None:
    known = settings(profile, version)
    assert known["max_connections"] == "300"
    assert ("checkpoint_segments" in known) + ("max_wal_size" in known) == (profile == "tuned")


def test_the_size_of_wal_is_said_in_each_servers_words() -> None:
    assert settings("tuned", "8.3.0")["checkpoint_segments"] == "340"
    assert settings("tuned", "18.6")["max_wal_size"] == "16GB"


def test_what_a_user_gives_a_value_is_not_left_out_where_the_server_does_not_know_it() -> None:
    for misspelt in ("wal_compresion=on", "jit=off"):
        name, _, value = misspelt.partition("=")
        assert settings(f"default-with-{misspelt}", "8.3.0")[name] == value


def test_every_setting_of_the_tables_is_known_to_some_server() -> None:
    everywhere = set().union(*RECORDED.values())
    assert set(difference()) <= everywhere


def test_effective_io_concurrency_is_not_set_before_it_existed() -> None:
    assert "effective_io_concurrency" not in settings("tuned", "8.3.0")
    assert "effective_io_concurrency" in settings("tuned", "18.6")


@given(st.integers(min_value=GIB // 4, max_value=8192 * GIB))
def test_tuned_takes_a_quarter_of_memory_up_to_32_gb(memory: int) -> None:
    size = parse_size(settings("tuned", "18.6", memory)["shared_buffers"])
    assert size == max(128 << 20, min(32 * GIB, memory // 4 >> 20 << 20))
    assert size == Configuration.named("tuned").shared_buffers(memory)


def test_the_smallest_and_largest_shared_buffers_of_all_profiles() -> None:
    assert shared_buffers_span(16 * GIB) == (128 << 20, 4 * GIB)


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"profile \"fast\" does not exist") as caught:
        Configuration.named("fast")
    assert "default, tuned" in caught.value.hint


def test_a_name_says_single_settings_in_one_order() -> None:
    name = "default-with-work_mem=64MB-with-synchronous_commit=off"
    profile = Configuration.named(name)
    assert profile.name == "default-with-synchronous_commit=off-with-work_mem=64MB"
    assert Configuration.named(profile.name) == profile
    known = settings(name, "18.6")
    assert (known["synchronous_commit"], known["work_mem"]) == ("off", "64MB")
    assert known | settings("default", "18.6") == known


def test_a_setting_without_a_value_is_as_tuned_has_it_and_one_left_out_as_default() -> None:
    tuned, default = settings("tuned", "18.6"), settings("default", "18.6")
    alone = settings("default-with-shared_buffers", "18.6")
    assert alone == default | {"shared_buffers": tuned["shared_buffers"]}
    without = settings("tuned-without-shared_buffers", "18.6")
    assert without == tuned | {"shared_buffers": default["shared_buffers"]}
    assert "work_mem" not in settings("tuned-without-work_mem", "18.6")
    assert "max_wal_size" not in settings("default-with-max_wal_size", "8.3.0")


def test_every_setting_that_tuned_has_can_be_added_and_left_out() -> None:
    for setting in difference():
        for name in (f"default-with-{setting}", f"tuned-without-{setting}"):
            assert is_profile(name)
            assert Configuration.named(name).shared_buffers(16 * GIB) >= 128 << 20


def test_a_name_says_where_data_lies_and_how_clients_come_to_it() -> None:
    profile = Configuration.named(
        "tuned-with-max_connections=40-on-tmpfs-across-2-workers-via-pgbouncer"
    )
    assert profile.storage == "tmpfs"
    assert (profile.topology, profile.pooler) == ("2-workers", "pgbouncer")
    assert profile.max_connections(16 * GIB) == 40
    assert profile.server == "tuned-with-max_connections=40"


@pytest.mark.parametrize(
    "name",
    [
        "default-with-",
        "default-with-fsync",
        "default-without-fsync",
        "default-with-shared_buffers=many",
        "default-with-max_connections=all",
        "default-with-work_mem=1MB-with-work_mem=2MB",
        "tuned-without-work_mem=1MB",
        "default-on-floppy",
        "default-across-3-rivers",
        "default-via-pgbouncer-across-2-workers",
        "default-via-odyssey",
        "default-with-archive_command='rm'",
        "default-with-a=b/c",
    ],
)
def test_a_name_that_says_nothing_or_too_much_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="does not exist") as caught:
        Configuration.named(name)
    assert "BASE[-without-SETTING]" in f"{caught.value.detail} {caught.value.hint}"


def test_checksums_are_initdbs_to_choose() -> None:
    made = Configuration.named("default-with-data_checksums=off")
    assert made.initdb_options == ("--no-data-checksums",)
    assert "data_checksums" not in made.settings((), 1 << 30)
    assert Configuration.named("tuned").initdb_options == ()
    with pytest.raises(UsageError) as refused:
        Configuration.named("default-with-data_checksums=yes")
    assert "write on or off" in refused.value.detail


def test_every_profile_says_what_it_is() -> None:
    rows = tomllib.loads(_TOML.read_text())["profile"]
    assert {row["name"] for row in rows if row["is"]} == set(profile_names())


def test_a_setting_needs_a_value_or_a_fraction() -> None:
    for row in ({}, {"value": "1", "fraction": 0.5}):
        with pytest.raises(ValueError, match="needs a value or a fraction"):
            Setting.model_validate({"name": "x", "profiles": ["default"], **row})


@pytest.mark.parametrize("text", ["", "128", "MB", "1.5GB", "12TB"])
def test_a_text_that_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_one_dialect(version: str) -> None:
    dialect = Dialect.of(RECORDED[version])
    assert dialect.socket_directory_setting in RECORDED[version]
    assert set(dialect.load_settings) <= set(RECORDED[version])
    assert dialect.wal_file_bytes > 0


def test_the_socket_directory_is_set_in_each_versions_words() -> None:
    words = {v: Dialect.of(RECORDED[v]).socket_directory_setting for v in VERSIONS}
    assert words["8.3.0"] == "unix_socket_directory"
    assert words["18.6"] == "unix_socket_directories"


def test_a_wal_position_before_9_3_skips_the_last_segment_of_each_log_file() -> None:
    old, new = Dialect.of(RECORDED["8.3.0"]), Dialect.of(RECORDED["18.6"])
    assert old.wal_bytes("1/0") - old.wal_bytes("0/FE000000") == 16 << 20
    assert new.wal_bytes("1/0") - new.wal_bytes("0/FF000000") == 16 << 20
    assert new.wal_bytes("16/B374D848") == 0x16B374D848
