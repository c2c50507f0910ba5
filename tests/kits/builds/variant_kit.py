"""Any Variant, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from base.build import (
    ALIGNMENTS,
    BLOCK_SIZES,
    FLAGS,
    SEGMENT_SIZES,
    WAL_BLOCK_SIZES,
    Compiler,
    Variant,
)

_others = st.lists(st.sampled_from(sorted({*FLAGS} - {*ALIGNMENTS})), unique=True)
_aligned = st.lists(st.sampled_from(ALIGNMENTS), max_size=1)
flags = st.tuples(_others, _aligned).map(lambda both: (*both[0], *both[1]))
variants = st.builds(
    Variant,
    blocksize=st.sampled_from(BLOCK_SIZES),
    wal_blocksize=st.sampled_from(WAL_BLOCK_SIZES),
    segsize=st.sampled_from(SEGMENT_SIZES),
    compiler=st.sampled_from(Compiler),
    flags=flags,
)
