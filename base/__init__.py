"""What builders, benchmarks and landspeed share: versions, builds, errors, files.

The three packages above meet at an install prefix with its ``BUILD.json``;
this package holds the words for that meeting and nothing else.

Start at ``build.Build``, ``errors.LandspeedError`` and ``files.write_atomic``.
"""
