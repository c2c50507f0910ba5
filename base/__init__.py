"""What builders, benchmarks and landspeed share: versions, builds, errors, files.

The three packages above meet at an install prefix with its ``BUILD.json``;
this package has what all three need, also types, paths, locks and running under bubblewrap.

Start at ``build.Build``, ``errors.LandspeedError`` and ``files.write_atomic``.
"""
