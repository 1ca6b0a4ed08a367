"""Functions of the literature in their usual boxes, which neither the reported comparison nor the tuning uses.

They are there to look for weaknesses: few dimensions and more, many local optima, plateaus, engineering formulas whose
optimum lies at a vertex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


def michalewicz(x: Array) -> float:
    """Steep valleys that cross, the more the later the coordinate."""
    i = np.arange(1, len(x) + 1)
    return float(-(np.sin(x) * np.sin(i * x**2 / math.pi) ** 20).sum())


def schwefel(x: Array) -> float:
    """The second best valley is far from the best, which lies near a vertex."""
    return float((418.9828872724338 - x * np.sin(np.sqrt(np.abs(x)))).sum())


def zakharov(x: Array) -> float:
    """A plate with one steep direction."""
    s = float((0.5 * np.arange(1, len(x) + 1) * x).sum())
    return float((x**2).sum() + s**2 + s**4)


def dixon_price(x: Array) -> float:
    """A bent valley."""
    i = np.arange(2, len(x) + 1)
    return float((x[0] - 1) ** 2 + (i * (2 * x[1:] ** 2 - x[:-1]) ** 2).sum())


def powell(x: Array) -> float:
    """A singular Hessian at the optimum; groups of four."""
    a, b, c, d = x[0::4], x[1::4], x[2::4], x[3::4]
    return float(((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4).sum())


def shekel(x: Array) -> float:
    """Ten narrow holes in a plain."""
    c = np.array([[4, 4, 4, 4], [1, 1, 1, 1], [8, 8, 8, 8], [6, 6, 6, 6], [3, 7, 3, 7]])
    c = np.vstack([c, [[2, 9, 2, 9], [5, 5, 3, 3], [8, 1, 8, 1], [6, 2, 6, 2], [7, 3.6, 7, 3.6]]])
    b = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
    return float(-(1 / (b + ((x - c) ** 2).sum(axis=1))).sum())


def rastrigin(x: Array) -> float:
    """A grid of local optima."""
    return float((x**2 - 10 * np.cos(2 * math.pi * x) + 10).sum())


def goldstein_price(x: Array) -> float:
    """Values over six orders of magnitude."""
    a, b = x
    first = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    second = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return float(first * second)


def six_hump_camel(x: Array) -> float:
    """Six local optima, two of them global."""
    a, b = x
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def eggholder(x: Array) -> float:
    """Many deep valleys, the best on the bound."""
    a, b = x
    return float(-(b + 47) * math.sin(math.sqrt(abs(b + a / 2 + 47))) - a * math.sin(math.sqrt(abs(a - b - 47))))


def cosine_mixture(x: Array) -> float:
    """A bowl with ripples."""
    return float((x**2).sum() - 0.1 * np.cos(5 * math.pi * x).sum() + 0.1 * len(x))


def trid(x: Array) -> float:
    """A bowl whose coordinates depend on their neighbours."""
    return float(((x - 1) ** 2).sum() - (x[1:] * x[:-1]).sum())


def salomon(x: Array) -> float:
    """Rings around the optimum."""
    r = math.sqrt(float((x**2).sum()))
    return 1 - math.cos(2 * math.pi * r) + 0.1 * r


def alpine(x: Array) -> float:
    """Kinks everywhere."""
    return float(np.abs(x * np.sin(x) + 0.1 * x).sum())


def stairs(x: Array) -> float:
    """Plateaus."""
    return float((np.floor(np.abs(x) + 0.5) ** 2).sum())


def slope(x: Array) -> float:
    """A plane: the optimum is a vertex."""
    return float((np.linspace(1, 2, len(x)) * np.where(np.arange(len(x)) % 2, x, 1 - x)).sum())


def borehole(x: Array) -> float:
    """Flow of water through a borehole."""
    rw, r, tu, hu, tl, hl, length, kw = x
    log = math.log(r / rw)
    return float(2 * math.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl)))


def otl_circuit(x: Array) -> float:
    """Voltage of a push-pull circuit without transformer, upside down."""
    rb1, rb2, rf, rc1, rc2, beta = x
    vb1 = 12 * rb2 / (rb1 + rb2)
    bottom = beta * (rc2 + 9) + rf
    value = (vb1 + 0.74) * beta * (rc2 + 9) / bottom + 11.35 * rf / bottom
    return -float(value + 0.74 * rf * beta * (rc2 + 9) / (bottom * rc1))


def piston(x: Array) -> float:
    """Seconds of a cycle of a piston."""
    m, s, v0, k, p0, ta, t0 = x
    a = p0 * s + 19.62 * m - k * v0 / s
    v = s / (2 * k) * (math.sqrt(a**2 + 4 * k * p0 * v0 * ta / t0) - a)
    return float(2 * math.pi * math.sqrt(m / (k + s**2 * p0 * v0 * ta / (t0 * v**2))))


def wing_weight(x: Array) -> float:
    """Weight of the wing of a light aircraft."""
    sw, wfw, a, sweep, q, taper, tc, nz, wdg, wp = x
    c = math.cos(math.radians(sweep))
    return float(
        0.036 * sw**0.758 * wfw**0.0035 * (a / c**2) ** 0.6 * q**0.006 * taper**0.04
        * (100 * tc / c) ** -0.3 * (nz * wdg) ** 0.49 + sw * wp
    )  # fmt: skip


def welded_beam(x: Array) -> float:
    """Cost of a welded beam; constraints as penalties."""
    h, length, t, b = x
    load, span, e, g = 6000.0, 14.0, 30e6, 12e6
    shear = load / (math.sqrt(2) * h * length)
    moment = load * (span + length / 2)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    bending = moment * radius / polar
    tau = math.sqrt(shear**2 + shear * bending * length / radius + bending**2)
    sigma = 6 * load * span / (b * t**2)
    buckling = 4.013 * e * t * b**3 / 6 / span**2 * (1 - t / (2 * span) * math.sqrt(e / (4 * g)))
    violations = [
        tau / 13600 - 1,
        sigma / 30000 - 1,
        h - b,
        1 - buckling / load,
        4 * load * span**3 / (e * t**3 * b) / 0.25 - 1,
    ]
    return float(1.10471 * h**2 * length + 0.04811 * t * b * (14 + length) + 10 * sum(max(v, 0.0) for v in violations))


@dataclass(frozen=True)
class Classic:
    """A function in a box.

    Attributes:
        function: The function.
        bounds: Lower and upper bounds.
        optimum: The least value, None to look for it.
        noise: Standard deviation of the noise: none.
    """

    function: Callable[[Array], float]
    bounds: tuple[tuple[float, float], ...]
    optimum: float | None = None
    noise: float = 0.0

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.bounds)

    @property
    def name(self) -> str:
        """Function and dimension."""
        return f"{self.function.__name__}-{self.dim}-classic"

    def objective(self, seed: int) -> Callable[[Array], float]:
        """The function of a point of the cube; the same for all seeds."""
        del seed
        low, high = np.array(self.bounds).T
        return lambda u: self.function(low + (high - low) * np.asarray(u))

    def best(self, seed: int) -> float:
        """The least value known, or that of a long search."""
        from scipy.optimize import differential_evolution

        if self.optimum is not None:
            return self.optimum
        return float(differential_evolution(self.objective(seed), [(0, 1)] * self.dim, seed=0, tol=1e-10).fun)


def _cube(low: float, high: float, dim: int) -> tuple[tuple[float, float], ...]:
    return ((low, high),) * dim


CLASSICS = [
    Classic(michalewicz, _cube(0, math.pi, 5), -4.687658179),
    Classic(michalewicz, _cube(0, math.pi, 10), -9.660151716),
    Classic(schwefel, _cube(-500, 500, 4), 0.0),
    Classic(schwefel, _cube(-500, 500, 8), 0.0),
    Classic(zakharov, _cube(-5, 10, 6), 0.0),
    Classic(dixon_price, _cube(-10, 10, 8), 0.0),
    Classic(powell, _cube(-4, 5, 8), 0.0),
    Classic(shekel, _cube(0, 10, 4), -10.536409817),
    Classic(rastrigin, _cube(-4, 6, 3), 0.0),
    Classic(rastrigin, _cube(-4, 6, 12), 0.0),
    Classic(goldstein_price, _cube(-2, 2, 2), 3.0),
    Classic(six_hump_camel, ((-3, 3), (-2, 2)), -1.031628453),
    Classic(eggholder, _cube(-512, 512, 2), -959.640662720),
    Classic(cosine_mixture, _cube(-0.7, 1.3, 8), 0.0),
    Classic(trid, _cube(-36, 36, 6), -50.0),
    Classic(salomon, _cube(-8, 12, 5), 0.0),
    Classic(alpine, _cube(-6, 10, 6), 0.0),
    Classic(stairs, _cube(-12, 20, 6), 0.0),
    Classic(slope, _cube(0, 1, 12), 0.0),
    Classic(
        borehole,
        (
            (0.05, 0.15),
            (100, 50000),
            (63070, 115600),
            (990, 1110),
            (63.1, 116),
            (700, 820),
            (1120, 1680),
            (9855, 12045),
        ),
    ),
    Classic(otl_circuit, ((50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300))),
    Classic(piston, ((30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000), (90000, 110000), (290, 296), (340, 360))),
    Classic(
        wing_weight,
        (
            (150, 200),
            (220, 300),
            (6, 10),
            (-10, 10),
            (16, 45),
            (0.5, 1),
            (0.08, 0.18),
            (2.5, 6),
            (1700, 2500),
            (0.025, 0.08),
        ),
    ),
    Classic(welded_beam, ((0.1, 2), (0.1, 10), (0.1, 10), (0.1, 2))),
]
