"""What -march=native stands for, read from what a compiler would run."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from base.errors import BuildError
from builders.sandbox.march_native import NATIVE_QUESTION, native_processor

GCC = """Using built-in specs.
COLLECT_GCC=gcc
COLLECT_GCC_OPTIONS='-march=native' '-E'
 /usr/lib/gcc/x86_64-linux-gnu/12/cc1 -E -quiet -imultiarch x86_64-linux-gnu /dev/null \
"-march=znver4" -mavx -mno-amx-tile --param "l1-cache-size=48" "-mtune=znver4" -dumpbase null
COMPILER_PATH=/usr/lib/gcc/x86_64-linux-gnu/12/
"""
CLANG = """Debian clang version 14.0.6
 (in-process)
 "/usr/lib/llvm-14/bin/clang" "-cc1" "-triple" "x86_64-pc-linux-gnu" "-main-file-name" "null" \
"-target-cpu" "znver4" "-target-feature" "+avx" "-target-feature" "-amx-tile" "-o" "-"
"""


@pytest.mark.parametrize("words", [GCC, CLANG], ids=["gcc", "clang"])
def test_the_processor_has_a_name_and_a_digest_of_all_that_code_depends_on(words):
    name, digest = native_processor(words).split()
    assert name == "znver4"
    assert len(digest) == 12


@pytest.mark.parametrize(
    ("words", "part", "other"),
    [
        (GCC, "-mavx", "-mno-avx"),
        (GCC, "l1-cache-size=48", "l1-cache-size=32"),
        (GCC, '"-mtune=znver4"', '"-mtune=generic"'),
        (CLANG, '"+avx"', '"-avx"'),
        (CLANG, '"-target-cpu" "znver4"', '"-target-cpu" "znver3"'),
    ],
)
def test_another_processor_has_another_digest(words, part, other):
    assert native_processor(words.replace(part, other)) != native_processor(words)


@pytest.mark.parametrize(("words", "part"), [(GCC, "/gcc/x86_64-linux-gnu/12"), (CLANG, "null")])
def test_where_the_compiler_is_and_what_it_was_given_do_not_count(words, part):
    assert native_processor(words.replace(part, "elsewhere")) == native_processor(words)


def test_a_compiler_that_does_not_say_is_one_clear_error():
    with pytest.raises(BuildError) as caught:
        native_processor("cc: unknown option -march=native")
    assert caught.value.message == "the compiler does not say what -march=native is here"
    assert "unknown option" in caught.value.detail


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_compilers_of_this_machine_say_it_the_same_each_time(compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    twice = {
        native_processor(
            subprocess.run(
                [compiler, *NATIVE_QUESTION], capture_output=True, text=True, check=True
            ).stderr
        )
        for _ in range(2)
    }
    assert len(twice) == 1
