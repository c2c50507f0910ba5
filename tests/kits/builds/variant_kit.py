"""Any Variant, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from base.build import BLOCK_SIZES, FLAGS, SEGMENT_SIZES, WAL_BLOCK_SIZES, Compiler, Variant

flags = st.lists(st.sampled_from(FLAGS), unique=True).map(tuple)
variants = st.builds(
    Variant,
    blocksize=st.sampled_from(BLOCK_SIZES),
    wal_blocksize=st.sampled_from(WAL_BLOCK_SIZES),
    segsize=st.sampled_from(SEGMENT_SIZES),
    compiler=st.sampled_from(Compiler),
    flags=flags,
)
