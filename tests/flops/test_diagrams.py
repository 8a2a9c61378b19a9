"""Selection maps: the printed-formula maps value by value, counted maps against direct counts, and the pictures."""

import json
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.flops.diagrams import equal_chains, joint_of
from mbkern.flops.residuals import residual

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "table1.json").read_text())["crossovers"]
NEVER = None
CROSSOVERS = {  # first N of a single chain at which the left is cheaper
    1: (17, NEVER, 39, 14, NEVER, 38), 2: (8, NEVER, 10, 8, NEVER, 10), 3: (5, 1, 3, 5, 1, 3),
    4: (4, 1, 1, 4, 1, 1), 5: (4, 1, 1, 4, 1, 1), 6: (3, 1, 1, 3, 1, 1),
}


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("language", ["en", "ru"])
def test_printed_maps(language, n):
    found = mb.flops.selection_map(n, source=f"table1-{language}")
    assert found.rows() == GOLDEN[language]["best_map_rows_c1_20_cols_L1_20"][str(n)]
    assert found.best.shape == (20, 20) and abs(sum(found.shares().values()) - 1.0) < 1e-12


@pytest.mark.parametrize("n", CROSSOVERS)
def test_crossovers(n):
    assert tuple(mb.flops.crossovers(n).values()) == CROSSOVERS[n]
    assert list(mb.flops.crossovers(n)) == ["EMH<DAH", "HZU<EMH", "HZU<DAH", "ERA<TSP", "OSP<ERA", "OSP<TSP"]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_best_on_a_single_chain(language):
    letters = {name: letter for letter, name in GOLDEN[language]["legend"].items()}
    for n, entry in GOLDEN[language]["single_chain_first_N"].items():
        best = ""
        for N in range(1, 31):
            values = mb.flops.formulas(mb.flops.structure(range(-1, N - 1), [int(n)] * N))
            best += letters[min(letters, key=values.get)]
        assert best == entry["best_N1_30"]


@pytest.mark.parametrize("n", [1, 3])
def test_counted_map_is_what_each_tree_counts(n):
    found = mb.flops.selection_map(n, max_length=7, max_chains=6, source="counted")
    for c, L in ((1, 1), (1, 7), (6, 1), (3, 4), (5, 5)):
        for name, cost in found.costs.items():
            model = equal_chains(c, L, joint_of(n))
            assert cost[c - 1, L - 1] == mb.flops.count(model, name).total, (name, c, L)


@pytest.mark.slow
def test_the_map_of_the_executed_printed_algorithms():
    """It is nearly the printed one: where the residuals decide, and only there, a cell changes hands."""
    executed, printed = (mb.flops.selection_map(3, 12, 12, source) for source in ("textbook", "table1-ru"))
    for c, L in ((1, 1), (1, 12), (12, 1), (7, 9)):
        tree = mb.flops.model_structure(equal_chains(c, L, joint_of(3)))
        for name, formula in (("emh-ldl", "ERA"), ("dah-ldl", "TSP"), ("hzu-ldl", "OSP")):
            expected = mb.flops.formulas(tree)[formula] + residual(formula, tree)
            assert executed.costs[name][c - 1, L - 1] == expected, (name, c, L)
    differ = sum(a != b for rows in zip(executed.rows(), printed.rows(), strict=True)
                 for a, b in zip(*rows, strict=True))
    assert 0 < differ <= 12


def test_counted_map_without_a_polynomial(monkeypatch):
    """A cost that is no polynomial is counted tree by tree."""
    from mbkern.flops import diagrams

    class Fake:
        def __init__(self, total):
            self.total = total

    monkeypatch.setattr(diagrams, "count", lambda model, method, level: Fake(2**model.n_bodies))
    found = diagrams.selection_map(1, 3, 2, source="counted")
    assert found.costs["emh-ldl"].tolist() == [[4, 8, 16], [8, 32, 128]]


def test_measured_map():
    found = mb.flops.selection_map(2, max_length=3, max_chains=2, source="measured", seconds=0.001)
    assert found.best.shape == (2, 3) and all(np.all(cost > 100.0) for cost in found.costs.values())
    assert set("".join(found.rows())) <= set("EDH")


def test_own_joint():
    joint = mb.cylindrical("x")
    found = mb.flops.selection_map(2, 2, 2, source="counted", joint=joint)
    assert found.costs["emh-ldl"][1, 1] == mb.flops.count(equal_chains(2, 2, joint), "emh-ldl").total


@pytest.mark.parametrize("n", [1, 3, 5])
def test_pictures(n, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    path = tmp_path / "map.png"
    figure = mb.flops.selection_figure(n, path, ("table1-en", "table1-ru"))
    picture = plt.imread(path)
    colours = {tuple(np.round(255 * pixel).astype(int)) for pixel in picture[::3, ::3, :3].reshape(-1, 3)}
    wanted = {"E": (76, 120, 168), "D": (242, 180, 77), "H": (114, 183, 121)}
    shown = set("".join(mb.flops.selection_map(n).rows()))
    assert {wanted[letter] for letter in shown} <= colours  # every winner has its area
    labels = [text.get_text() for text in figure.axes[0].texts]
    assert any("N = 100" in label for label in labels)  # isolines of the number of bodies
    assert any("3 and 4 dofs only" in label for label in labels) == (n >= 5)
    plt.close(figure)
    assert mb.flops.selection_map(n, 3, 3).plot().get_xlabel() == "length of a chain L"
    plt.close("all")


@pytest.mark.parametrize("n", [0, 7, 2.0, True, "3", None])
def test_bad_freedoms(n):
    for call in (mb.flops.selection_map, mb.flops.crossovers, joint_of):
        with pytest.raises(ModelError, match="n: expected the dofs of every joint, 1 to 6"):
            call(n)


def test_bad_input():
    with pytest.raises(ModelError, match="source: expected one of table1-en"):
        mb.flops.selection_map(3, source="guessed")
    with pytest.raises(ModelError, match="max_length"):
        mb.flops.selection_map(3, max_length=0)
    with pytest.raises(ModelError, match="max_chains"):
        mb.flops.selection_map(3, max_chains=1.5)
    with pytest.raises(ModelError, match="joint: expected 3 dofs, got 1"):
        mb.flops.selection_map(3, source="counted", joint=mb.revolute("z"))
    with pytest.raises(ModelError, match="formula: expected one of EMH"):
        mb.flops.first_cheaper("EMH", "LDL", 3)


@pytest.mark.parametrize("n", range(1, 7))
def test_joints_have_their_freedoms(n):
    assert joint_of(n).nv == n
