"""A pretended Citus in a real server: an extension of that name, which tells servers of each other.

It distributes nothing: the rows stay on the coordinator. But it is loaded, made and asked as the
real one is, and whatever a node is told, it is told by a client that the coordinator's own backend
starts, at the address that it was given.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from base.build import Build
from builders.external import inspect

_CONTROL = """comment = 'pretended'
default_version = '1.0'
relocatable = false
"""
# The client is pgbench: the only one that landspeed's Builds have.
_SQL = r"""
DO $$ BEGIN
    IF current_setting('shared_preload_libraries') NOT LIKE 'citus%' THEN
        RAISE EXCEPTION 'Citus can only be loaded via shared_preload_libraries';
    END IF;
END $$;
CREATE TABLE citus_node (name text, port int, heard_by text);
CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid int);
CREATE TABLE citus_heard (line text);

CREATE FUNCTION citus_version() RETURNS text LANGUAGE sql AS
    $$ SELECT 'Citus 1.0 on nothing, compiled by nobody'::text $$;

CREATE FUNCTION citus_tell(host text, port int, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY citus_heard FROM PROGRAM %L', format(
        'printf %%s %L | @PGBENCH@ -n -t 1 -c 1 -h %s -p %s -U postgres -f - postgres 2>&1',
        what, host, port));
END $$;

CREATE FUNCTION citus_set_coordinator_host(host text, port int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM citus_tell(host, port, 'SELECT 1;');
    INSERT INTO citus_node VALUES (host, port, 'coordinator');
END $$;

CREATE FUNCTION citus_add_node(host text, port int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    coordinator text := (SELECT name FROM citus_node WHERE heard_by = 'coordinator');
BEGIN
    INSERT INTO citus_node VALUES (host, port, 'worker');
    -- there and back again; a shell takes quotes away, but no dollars between them
    PERFORM citus_tell(host, port, format('SELECT citus_tell($q$%s$q$, %s, $q$SELECT 2;$q$);',
        coordinator, port));
    RETURN (SELECT count(*) FROM citus_node);
END $$;

CREATE FUNCTION create_distributed_table(name regclass, key text, colocate_with text DEFAULT '')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    node record;
    number int := (SELECT count(*) FROM pg_dist_shard);
BEGIN
    IF EXISTS (SELECT FROM pg_index i WHERE indrelid = name AND indisunique AND NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = name AND attnum = ANY (i.indkey) AND attname = key))
    THEN
        RAISE EXCEPTION 'cannot create constraint on "%"', name
            USING DETAIL = 'Distributed relations cannot have UNIQUE constraints that do not '
                'include the partition column.';
    END IF;
    FOR node IN SELECT * FROM citus_node WHERE heard_by = 'worker' LOOP
        number := number + 1;
        INSERT INTO pg_dist_shard VALUES (name, 102000 + number);
        PERFORM citus_tell(node.name, node.port, format(
            'CREATE TABLE %s_%s AS SELECT n AS aid, 0 AS abalance FROM generate_series(1, 1000) n;',
            name, 102000 + number));
    END LOOP;
END $$;

CREATE FUNCTION truncate_local_data_after_distributing_table(name regclass) RETURNS void
    LANGUAGE sql AS 'SELECT';
"""


def server_with_citus(build: Build, root: Path) -> Build:
    """A copy of *build* at *root* that has the pretended extension, as `inspect` finds it."""
    shutil.copytree(build.prefix, root, symlinks=True)
    made = inspect(str(root / "bin/pg_config"), "sharded")
    assert made.external is not None
    extensions, libraries = Path(made.external.sharedir, "extension"), Path(made.external.pkglibdir)
    (extensions / "citus.control").write_text(_CONTROL)
    sql = _SQL.replace("@PGBENCH@", str(root / "bin/pgbench"))
    (extensions / "citus--1.0.sql").write_text(sql)
    # any library that can be loaded will do
    shutil.copy(libraries / "dict_snowball.so", libraries / "citus.so")
    return inspect(str(root / "bin/pg_config"), "sharded")
