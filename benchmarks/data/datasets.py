"""Load the datasets of the catalog: a database for each, in one data directory."""

from __future__ import annotations

from pathlib import Path

import psycopg

from base.errors import LandspeedError, MeasureError
from base.files import digest_text
from base.version import Version
from benchmarks.machine.spawn import disk_full, is_disk_full
from benchmarks.server.connection import connect
from benchmarks.server.endpoint import DATABASE
from benchmarks.workloads.catalog import (
    DATASETS_SIZE,
    Dataset,
    dataset_for,
    dataset_names,
    dataset_texts,
)

# Every version has a default of its own; what ANALYZE finds must not depend on it.
_STATISTICS_TARGET = "SET default_statistics_target = 100"


class DatasetLoader:
    """Loads a template with all datasets that its version can have, as pgbench loads its tables."""

    load = ""
    size = DATASETS_SIZE

    @property
    def data(self) -> str:
        """What tells these data from others."""
        return digest_text("\n".join([_STATISTICS_TARGET, *dataset_texts()]))

    def initialise(self, host: Path, *, scale: int) -> None:
        """Make and fill the databases; MeasureError if that fails."""
        del scale
        try:
            with connect(host, database=DATABASE) as connection:
                said = connection.info.parameter_status("server_version") or ""
            version = Version.said_in(said)
        except (psycopg.Error, ValueError) as error:
            raise _failed("could not load the datasets", error) from error
        for name in dataset_names():
            dataset = dataset_for(name, version)
            if dataset is None:
                continue
            try:
                with connect(host, database=DATABASE) as connection:
                    connection.execute(f'CREATE DATABASE "{name}"'.encode())
                    try:
                        _fill(host, dataset)
                    except (psycopg.ProgrammingError, psycopg.NotSupportedError):
                        if version.is_release:
                            raise
                        # a commit calls itself by a version before it has all that comes with it
                        connection.execute(f'DROP DATABASE "{name}"'.encode())
            except psycopg.Error as error:
                said = f'could not load dataset "{name}" into PostgreSQL {version}'
                raise _failed(said, error) from error


def _failed(message: str, error: Exception) -> LandspeedError:
    said = str(error).strip()
    return disk_full(message, said) if is_disk_full(said) else MeasureError(message, detail=said)


def _fill(host: Path, dataset: Dataset) -> None:
    with connect(host, database=dataset.name) as connection:
        # from 9.0 on PL/pgSQL is installed in every database
        if not connection.execute("SELECT 1 FROM pg_language WHERE lanname = 'plpgsql'").fetchone():
            connection.execute("CREATE LANGUAGE plpgsql")
        connection.execute(dataset.sql.encode())
        connection.execute(_STATISTICS_TARGET)
        connection.execute("VACUUM FREEZE ANALYZE")
