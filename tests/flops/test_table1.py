"""The printed formulas against the worked table, value by value."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import mbkern as mb
from mbkern.errors import MbkernError, ModelError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "table1.json").read_text())
TREES = {
    "chain": lambda n: list(range(-1, n - 1)),
    "carousel": lambda n: [-1] + [0] * (n - 1),
    "bintree": lambda n: [-1] + [(i - 1) // 2 for i in range(1, n)],
}
ZOO = {"chain": mb.zoo.chain, "carousel": mb.zoo.carousel, "bintree": mb.zoo.binary_tree}
JOINTS = {"1": mb.revolute("z"), "2": mb.universal("x", "y"), "3": mb.ball()}


@pytest.mark.parametrize("family", TREES)
@pytest.mark.parametrize("name", mb.flops.FORMULAS)
def test_every_value_of_the_table(name, family):
    for n_bodies, row in GOLDEN["values"][name][family].items():
        for dofs, expected in row.items():
            tree = mb.flops.structure(TREES[family](int(n_bodies)), [int(dofs)] * int(n_bodies))
            assert mb.flops.formulas(tree)[name] == int(expected), (n_bodies, dofs)


@pytest.mark.parametrize("family", ZOO)
def test_models_give_the_same_as_their_structure(family):
    for dofs, joint in JOINTS.items():
        values = mb.flops.table1(ZOO[family](10, joint))
        assert values == {name: int(GOLDEN["values"][name][family]["10"][dofs]) for name in mb.flops.FORMULAS}
        assert all(type(x) is int for x in values.values())


@pytest.mark.parametrize("entry", GOLDEN["mixed"].values(), ids=list(GOLDEN["mixed"]))
def test_mixed_freedoms(entry):
    values = mb.flops.formulas(mb.flops.structure([k - 1 for k in entry["parents"]], entry["n"]))
    assert values == {name: entry[name] for name in mb.flops.FORMULAS}


@pytest.mark.parametrize("key", GOLDEN["closed_forms_N>=2"])
def test_closed_forms(key):
    name, family = key.split("_")
    for n in range(1, 7):
        powers = {p: eval(text.replace("/", "*one/"), {"n": n, "one": Fraction(1)})
                  for p, text in GOLDEN["closed_forms_N>=2"][key].items()}
        for N in (2, 3, 7, 30):
            expected = sum(value * N ** int(p[-1]) for p, value in powers.items())
            assert mb.flops.formulas(mb.flops.structure(TREES[family](N), [n] * N))[name] == expected, (n, N)


def test_pipelayer():
    expected = GOLDEN["mixed"]["pipelayer_chain_n3111"]
    assert mb.flops.table1(mb.zoo.pipelayer()) == {name: expected[name] for name in mb.flops.FORMULAS}


def test_structure_parameters_by_hand():
    #   0 (n = 6) - 1 (1) - 2 (2)
    #             \ 3 (3)              and a second root 4 (0 dofs)
    tree = mb.flops.structure([-1, 0, 1, 0, -1], [6, 1, 2, 3, 0])
    assert tree.eta == (6, 7, 9, 9, 0)
    assert tree.theta == (6, 2, 6, 6, 0)
    assert tree.tau == (0 + 5 + 3, 5 + 4, 4, 3, 6)
    assert tree.m == (0, 5, 4, 3, 6)


def test_each_root_pays_the_roots_terms():
    # trees that share nothing but the ground cost what they cost apart
    a, b = ([-1, 0, 0], [1, 3, 2]), ([-1, 0], [6, 2])
    both = mb.flops.structure([-1, 0, 0, -1, 3], [1, 3, 2, 6, 2])
    apart = [mb.flops.formulas(mb.flops.structure(*tree)) for tree in (a, b)]
    assert mb.flops.formulas(both) == {name: apart[0][name] + apart[1][name] for name in mb.flops.FORMULAS}


def test_a_weld_is_a_joint_with_no_freedoms():
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tool", "base", mb.weld(), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    assert mb.flops.table1(model) == mb.flops.formulas(mb.flops.structure([-1, 0], [1, 0]))
    assert mb.flops.table1(model)["EMH"] == 324 + 864


@pytest.mark.parametrize(("parents", "dofs", "match"), [
    ([], [], "at least one body"), ([-1, 0], [1], "one entry each"), ([-1, 1], [1, 1], r"parents\[1\]"),
    ([-2], [1], r"parents\[0\]"), ([-1], [7], r"dofs\[0\]"), ([-1], [-1], r"dofs\[0\]"),
    ([-1], [1.5], "dofs: expected whole numbers"), (["world"], [1], "parents: expected whole"), (3, [1], "parents"),
])
def test_bad_structures(parents, dofs, match):
    with pytest.raises(ModelError, match=match):
        mb.flops.structure(parents, dofs)


def test_not_a_model():
    with pytest.raises(ModelError, match="model: expected a Model"):
        mb.flops.table1("chain")
    assert issubclass(ModelError, MbkernError)
