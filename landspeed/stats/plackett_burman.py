"""Make two-level designs that screen many factors at once. Pure.

If one factor is changed at a time, a run measures one factor. If instead each factor is on in half
of all runs, and each pair of factors is on, off and mixed equally often, every run measures every
factor: each effect is known as well as if all runs had been made for it (Fisher, "The Design of
Experiments", 1935, chapter 6; Hotelling, "Some improvements in weighing and other experimental
techniques", Ann. Math. Stat. 15, 1944). The columns of a Hadamard matrix are such a design
(Plackett and Burman, "The design of optimum multifactorial experiments", Biometrika 33, 1946).

The rows are followed by their mirror image with all signs flipped (the fold-over of Box and Wilson,
"On the experimental attainment of optimum conditions", J. R. Stat. Soc. B 13, 1951). The product of
two columns is the same in both halves, a column is not, so interactions of two factors bias no main
effect. They remain confounded with each other, and interactions of three may bias a main effect.

We construct the matrix ourselves: pyDOE3 has none of 28 or 36 rows, scipy only powers of two.
"""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import numpy.typing as npt

Signs = npt.NDArray[np.int64]
"""A row per configuration, a column per factor: 1 where the factor is on, -1 where it is off."""

MANY = 5
"""Number of factors from which they are screened instead of changed one at a time.

SOURCE: NIST/SEMATECH e-Handbook of Statistical Methods, 5.3.3, table 3.1, the objective of
screening: factorials of 2 to 4 factors, fractions or Plackett-Burman designs of 5 and more.
"""


def fold_over(factors: int) -> Signs:
    """Return the design of *factors* factors, at least 1; all its rows differ.

    In the first row all factors are on. Its mirror image, with all off, begins the second half.
    """
    matrices = (_hadamard(order) for order in count(factors))
    matrix = next(one for one in matrices if one is not None)
    half = (matrix * matrix[0])[:, :factors]
    return np.vstack([half, -half])


def _hadamard(order: int) -> Signs | None:
    """Return an orthogonal matrix of ±1 of *order* rows; None if these constructions give none.

    They do for 1, 2 and every multiple of 4 below 52. SOURCE: Paley, "On orthogonal matrices",
    J. Math. Phys. 12 (1933), his two constructions for a prime, and Sylvester's doubling.
    """
    if order == 1:
        return np.ones((1, 1), np.int64)
    if order % 2:
        return None
    if order % 4 == 0 and _is_prime(order - 1):
        skew = _bordered(_residues(order - 1), column=-1)
        return skew + np.eye(order, dtype=np.int64)
    half = _hadamard(order // 2)
    if half is not None:
        return np.kron(np.array([[1, 1], [1, -1]]), half)
    prime = order // 2 - 1
    if prime % 4 == 1 and _is_prime(prime):
        symmetric = _bordered(_residues(prime), column=1)
        ones = np.eye(order // 2, dtype=np.int64)
        return np.kron(symmetric, [[1, 1], [1, -1]]) + np.kron(ones, [[1, -1], [-1, -1]])
    return None


def _residues(prime: int) -> Signs:
    """Return Paley's Q: row - column is a square modulo *prime* (1), zero (0) or neither (-1)."""
    squares = {number * number % prime for number in range(1, prime)}
    legendre = np.array([0, *(1 if n in squares else -1 for n in range(1, prime))])
    rows = np.arange(prime)
    return np.asarray(legendre[(rows[:, np.newaxis] - rows) % prime])


def _bordered(matrix: Signs, *, column: int) -> Signs:
    """Return *matrix* below a row of ones and right of a column of *column*, 0 where they meet."""
    found = np.pad(matrix, ((1, 0), (1, 0)), constant_values=1)
    found[:, 0] = column
    found[0, 0] = 0
    return found


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % by for by in range(2, math.isqrt(number) + 1))
