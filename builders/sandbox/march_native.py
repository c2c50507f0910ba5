"""What ``-march=native`` stands for on a machine: without it such a Build is not identified.

The compiler decides it when it runs, by the processor it runs on, and spells it out for its own
inner program. That is asked for, and no part of it is guessed: not only which instructions there
are, gcc also hands over the sizes of the processor's caches.
"""

from __future__ import annotations

import shlex

from base.errors import BuildError
from base.files import canonical_json, digest_text

NATIVE_QUESTION = ("-march=native", "-###", "-E", "-x", "c", "/dev/null")
"""The arguments that make gcc and clang say on stderr what they would run, and run nothing."""

_FOLLOWED = frozenset({"--param", "-target-cpu", "-target-feature", "-tune-cpu"})


def native_processor(words: str) -> str:
    """Return the processor's name as the compiler has it, and a digest over all it knows of it.

    *words* are its answer to NATIVE_QUESTION; BuildError if they do not say.
    """
    for line in words.splitlines():
        arguments = shlex.split(line) if "cc1" in line else []
        pairs = list(zip(["", *arguments], arguments, strict=False))
        chosen = sorted(a for before, a in pairs if a.startswith("-m") or before in _FOLLOWED)
        names = [a for before, a in pairs if before == "-target-cpu"]
        names += [a.partition("=")[2] for a in arguments if a.startswith(("-march=", "-mcpu="))]
        if names:
            return f"{names[0]} {digest_text(canonical_json(chosen))[:12]}"
    raise BuildError(
        "the compiler does not say what -march=native is here",
        detail=words.strip()[-500:],
        hint='Leave out "native".',
    )
