"""What a server says of itself: its settings, its sizes, and how it was configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from base.build import Build
from base.paths import Paths
from benchmarks.server.cluster import Cluster, control_data, initdb, known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import ServerHome

# Where this very cluster is, which is another place each time.
_PLACES = re.compile(r".*(directory|directories|_file)")
# Of pg_controldata's lines those that are the server's, and not of this cluster or its moment.
_OF_SERVER = re.compile(
    r"pg_control version number|Catalog version number|Date/time type storage|.*argument passing"
    r"|.*signedness|(Database|WAL) block size|(Maximum|Blocks|Bytes|Size) .*"
    r"|Data page checksum version"
)


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Traits are what a server says of itself.

    ``settings`` are pg_settings' without those that name places, ``control`` what is the server's
    in pg_controldata, ``configured`` what pg_config tells in SQL.
    """

    settings: Mapping[str, str]
    control: Mapping[str, str]
    configured: Mapping[str, str]


def traits(build: Build, paths: Paths) -> Traits:
    """The Traits of *build*'s server, from a cluster that is thrown away; ClusterError if none."""
    home = ServerHome.open(paths)
    server = home.reachable(build)
    with home.run_directory() as run:
        data = run.path / "cluster"
        initdb(server, data, run)
        control = control_data(server, data)
        chosen = Configuration.named("default").settings(known_settings(server), 0)
        cluster = Cluster(build=server, data=data, run=run, settings=chosen, keep=False)
        with cluster, cluster.connect() as connection:
            settings = connection.execute("SELECT name, setting FROM pg_settings").fetchall()
            configured = connection.execute("SELECT name, setting FROM pg_config").fetchall()
    return Traits(
        settings={name: value for name, value in settings if not _PLACES.fullmatch(name)},
        control={key: value for key, value in control.items() if _OF_SERVER.fullmatch(key)},
        configured=dict(configured),
    )
