"""The report, the scaling study and the subcommands."""

import csv
import json
import math
import sys

import numpy as np
import pytest

import mbkern as mb
from mbkern import plain
from mbkern.cli import COMMANDS, parser
from mbkern.cli.models import model_named
from mbkern.errors import MbkernError, MethodError, ModelError, StateError
from mbkern.flops import scaling
from mbkern.flops.scaling import (
    CALL,
    EVALUATION,
    FIXED,
    INTEGRATION,
    SIX,
    STEP,
    Measurement,
    Study,
    _judged,
    flop_polynomial,
    study,
)
from mbkern.flops.timing import best_times, evaluation, some_state
from mbkern.methods import METHODS


def test_report_shows_formulas_counts_and_times():
    model = mb.zoo.chain(4)
    table = mb.flops.report(model, seconds=0.005)
    data = table.to_dict()
    assert data["formulas"] == mb.flops.table1(model) and data["n_bodies"] == 4
    json.dumps(data)
    for name, row in data["methods"].items():
        if name in METHODS:
            assert row["kernel"] == mb.flops.count(model, name).total
            assert math.isclose(row["gigaflops"], row["kernel"] / row["nanoseconds"]) and row["nanoseconds"] > 100
        else:
            assert row["kernel"] is None and row["nanoseconds"] is None
        textbook, printed = mb.flops.count(model, name, level="textbook"), data["formulas"]
        keys = {"dah": ("DAH", "TSP"), "hzu": ("HZU", "OSP")}.get(name.removesuffix("-ldl"), ("EMH", "ERA"))
        english, russian = (printed[key] for key in keys)
        assert (row["textbook_to_mu"], row["textbook_to_pdot"]) == (textbook.to_mu, textbook.to_pdot)
        assert row["textbook_to_mu_less_english"] == textbook.to_mu - english
        assert row["textbook_to_pdot_less_russian"] == textbook.to_pdot - russian
        assert sum(row["textbook_by_sweep"].values()) == textbook.total
        if name in METHODS:
            assert row["kernel_less_english"] == row["kernel"] - english
            assert row["kernel"] == sum(row["kernel_by_sweep"].values())
    assert data["methods"]["emh-ldl"]["textbook_to_pdot_less_russian"] == 0
    # three bodies that are no root, and one root, all with one dof: the documented difference
    assert data["methods"]["emh-cholesky"]["textbook_to_mu_less_english"] == 3 * (44 - 84) - (6 + 10 + 60)
    text, markdown = str(table), table.to_markdown()
    for name in data["methods"]:
        assert name in text and f"| {name} |" in markdown
    lines = markdown.splitlines()
    assert len({line.count("|") for line in lines[:lines.index("")]}) == 1
    assert "- English" in text and "minus Russian" in markdown


def test_report_says_where_a_kernel_is_above_its_formula():
    table = mb.flops.report(mb.zoo.chain(4), measure=False)
    above = {row.method: row.kernel_less_english for row in table.rows if row.kernel and row.kernel > row.english}
    assert set(above) == {"emh-lu"}  # all kernels below their formulas would be news
    for shown in (str(table), table.to_markdown(), " ".join(table.to_dict()["notes"])):
        for method, more in above.items():
            assert f"{method}: the kernel takes {more} flops more than the English formula" in shown
        assert "dah: the kernel" not in shown


@pytest.mark.parametrize(("method", "module", "joint", "given"), [
    ("emh-lu", "extended_lu", mb.revolute("z"), ("put_blocks", "joint_momentum_rates", "put_margins", "put_loss")),
    ("hzu", "multipliers", mb.universal("x", "y"), ("put_blocks", "joint_momentum_rates", "put_basis", "put_margins")),
])
def test_why_they_are_above(method, module, joint, given, monkeypatch):
    """What the formulas take as given, and checks, explain all of the excess. Of hinges hzu is below its formula."""
    model = mb.zoo.chain(10, joint)
    core, ledgers = plain.load(module), []
    for name in given:
        function = getattr(core, name)

        def apart(*args, function=function, name=name):
            (ledger,) = {id(x.ledger): x.ledger for a in args for x in getattr(a, "_numbers", ())}.values()
            ledgers.append(ledger)
            with ledger.under(name):
                return function(*args)

        monkeypatch.setattr(core, name, apart)
    counted = mb.flops.count(model, method)
    pages = ledgers[0].pages
    unpriced = sum(sum(pages[name,].used[:4]) for name in given if (name,) in pages)
    excess = counted.total - mb.flops.table1(model)[{"emh-lu": "EMH", "hzu": "HZU"}[method]]
    assert 0 < excess < unpriced


def test_report_without_times_and_with_a_massless_body():
    builder = mb.ModelBuilder(name="rig")
    builder.add_body("light", joint=mb.revolute("z"))
    builder.add_body("heavy", "light", mb.revolute("x"), mass=1.0, inertia=(1, 1, 1))
    table = mb.flops.report(builder.build(), measure=False).to_dict()
    assert "hzu" not in table["methods"] and table["methods"]["dah"]["nanoseconds"] is None
    with pytest.raises(ModelError, match="model: expected a Model"):
        mb.flops.report("rig")


def made_up(law, method="emh-ldl", family="chain", dofs=1):
    return [Measurement(family, dofs, N, method, EVALUATION, law(N)) for N in (4, 8, 16, 32, 64)]


def test_exponents_of_known_laws():
    result = Study(tuple(made_up(lambda N: 7.0 * N) + made_up(lambda N: 2.0 * N**3, "dah")))
    assert abs(result.exponent("chain", 1, "emh-ldl") - 1.0) < 1e-12
    assert abs(result.exponent("chain", 1, "dah") - 3.0) < 1e-12
    assert result.exponent("carousel", 1, "dah") is None


def test_claims_can_fail():
    def verdict(law):
        claims = Study(tuple(x for family in ("chain", "carousel", "binary tree")
                             for x in made_up(law, family=family)))._growth("", "emh-ldl", 1, ("chain",), 1)
        return claims.verdict

    assert verdict(lambda N: 90.0 * N) == "confirmed"
    assert verdict(lambda N: 90.0 * N**0.67) == "confirmed for flops, not for times"  # a call's own cost, not linear
    assert verdict(lambda N: 90.0 * N**2) == "confirmed for flops, not for times"
    assert Study(tuple(made_up(lambda N: 1.0 * N, "dah")))._growth("", "dah", 1, ("chain",), 3).verdict == (
        "confirmed for flops, not for times")  # flops grow with the cube, times do not
    cubic = Study(tuple(made_up(lambda N: 1.0 * N)))._growth("", "emh-ldl", 1, ("chain",), 3)
    assert cubic.verdict == "not confirmed"
    assert Study(tuple(made_up(lambda N: N)))._growth("", "dah", 1, ("chain",), 3).verdict == "not measured"


def test_no_exponent_of_negative_differences():
    """A call is a run less its steps, which noise can make negative."""
    assert Study(tuple(made_up(lambda N: N - 5.0))).exponent("chain", 1, "emh-ldl") is None


def test_a_study_in_parts(tmp_path):
    """What is measured again replaces its panel and no other, also after a detour by a file."""
    first = Study((*made_up(lambda N: 7.0 * N, family="carousel"), *made_up(lambda N: 3.0 * N, dofs=2)))
    first.save(tmp_path / "parts" / "scaling.csv")
    again = Study.read(tmp_path / "parts" / "scaling.csv")
    assert again == first
    result = again.updated(Study(tuple(made_up(lambda N: 5.0 * N, dofs=2) + made_up(lambda N: N, dofs=1))))
    assert [(m.family, m.dofs) for m in result.measurements[::5]] == [("chain", 1), ("chain", 2), ("carousel", 1)]
    assert [result.times(*panel, "emh-ldl")[1][0] for panel in (("chain", 2), ("carousel", 1))] == [20.0, 28.0]


def test_growth_is_judged_by_steps_where_there_are_some():
    """A call of 5 us hides linear growth from evaluations, not from steps."""
    points = made_up(lambda N: 5000.0 + 90.0 * N)
    assert Study(tuple(points))._growth("", "emh-ldl", 1, ("chain",), 1).verdict == "confirmed for flops, not for times"
    steps = [Measurement(m.family, m.dofs, m.bodies, m.method, STEP, 360.0 * m.bodies) for m in points]
    judged = Study((*points, *steps))._growth("", "emh-ldl", 1, ("chain",), 1)
    assert judged.verdict == "confirmed" and "time of a step like N^1.00" in judged.measured
    # evaluations of larger trees count more: runs of 100 steps end where patience does
    larger = [*points, Measurement("chain", 1, 1024, "emh-ldl", EVALUATION, 1e6)]
    judged = Study((*larger, *steps))._growth("", "emh-ldl", 1, ("chain",), 1)
    assert "to 1024" in judged.measured and "time of an evaluation" in judged.measured


def test_a_call_has_no_exponent_and_its_noise_is_not_drawn():
    calls = [Measurement("chain", 1, N, "emh-ldl", CALL, ns) for N, ns in ((4, 3e4), (8, 3.1e4), (16, -2e3), (32, 3e4))]
    result = Study(tuple(calls))
    assert result.exponent("chain", 1, "emh-ldl", CALL) is None
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = result.plot(CALL)
    (line,) = figure.axes[0].lines
    assert line.get_xdata().tolist() == [4, 8, 32] and line.get_label() == "emh-ldl"
    pyplot.close(figure)


@pytest.mark.parametrize(("ratios", "verdict"), [
    ((1.0, 1.05, 0.95, 1.2, 1.3, 1.4), "confirmed"),
    ((1.4, 1.3, 1.2, 1.2, 1.3, 1.4), "confirmed above three dofs, not below"),
    ((1.0, 1.0, 1.0, 1.2, 1.3, 1.5), "confirmed below, not above three dofs"), ((4, 3, 3, 2, 2, 2), "not confirmed"),
    ((1.0, 1.0, 1.0, 0.9, 1.2, 1.2), "confirmed below, not above three dofs")])
def test_the_judge_of_ldl_against_lu(ratios, verdict):
    assert _judged(dict(enumerate(ratios, 1))) == verdict


def test_flop_polynomials():
    for method, family, expected in (("emh-ldl", "binary tree", 1), ("dah", "chain", 3), ("dah", "carousel", 1),
                                     ("hzu", "chain", 1), ("hzu", "carousel", 3)):
        degree, flops = flop_polynomial(method, family, 2)
        assert degree == expected
        make = {"chain": mb.zoo.chain, "carousel": mb.zoo.carousel, "binary tree": mb.zoo.binary_tree}[family]
        assert flops(11) == mb.flops.count(make(11, mb.universal("x", "y")), method).total


@pytest.mark.parametrize("method", ["emh-ldl", "newton-euler-ldl"])
def test_evaluations_are_timed_inside_compiled_code(method):
    """So many at once that nothing is seen of the call from Python, and they are those of the System."""
    model = mb.zoo.chain(4)
    system, calls = mb.System(model, method), []
    repeated = evaluation(model, method)
    assert repeated.times > 20  # 0.1 ms of a tree of four bodies
    repeated()
    assert np.array_equal(repeated.dydt, np.concatenate(system.rhs(*some_state(system))))

    class Many:
        times = 1000

        def __call__(self):
            calls.append(1)

    both = best_times({"one": lambda: calls.append(1), "many": Many()}, 0.001)
    assert both["many"] < 0.1 * both["one"]


@pytest.mark.slow
@pytest.mark.parametrize("methods", [SIX[:2], pytest.param(SIX, marks=pytest.mark.nightly)], ids=["two", "six"])
def test_study_and_its_files(methods, tmp_path, monkeypatch):
    """Claims that hundreds of trees are counted for, with all methods only."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    if methods != SIX:
        for name in ("_same_on_all", "_ldl_against_lu", "_where_hzu_wins"):
            monkeypatch.setattr(scaling, name, lambda *_: scaling.Claim("HZU wins", "", ""))
    # a call is told from its steps where these are short, which on a busy machine may be nowhere
    monkeypatch.setattr(scaling, "BESIDE", np.inf)
    peers = {"nothing": lambda model: lambda: None, "cannot": lambda model: None}
    done = []
    result = study(dofs=(1,), sizes=(2, 4, 8), methods=methods, peers=peers, integrate=True, span=0.01, steps=40,
                   seconds=0.002, progress=done.append)
    assert done == [1, 2, 3]
    assert len(result.measurements) == 3 * 3 * (5 * len(methods) + 1)
    # what a step and the call around the steps cost are differences of measured times, near zero for so small trees
    assert all(m.nanoseconds > 0 for m in result.measurements if m.what not in (STEP, CALL))
    run, call, step = (result.times("chain", 1, "emh-ldl", what)[1][0] for what in (FIXED, CALL, STEP))
    assert abs(call + 40 * step - run) < 1e-6 * run
    paths = result.write(tmp_path)
    assert {path.name for path in paths} >= {"scaling.csv", "exponents.csv", "claims.md", "evaluation.png",
                                             "evaluation.svg", "integration.png", "fixed.png", "step.png",
                                             "call.png"}
    with (tmp_path / "scaling.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.measurements) and rows[0]["family"] == "chain"
    assert {row["what"] for row in rows} == {EVALUATION, INTEGRATION, FIXED, STEP, CALL}
    from matplotlib import pyplot as plt

    picture = plt.imread(tmp_path / "evaluation.png")
    assert np.ptp(picture[..., :3]) > 0.5
    claims = (tmp_path / "claims.md").read_text()
    assert claims.count("\n| ") == 13 and "HZU wins" in claims
    plt.close("all")


def test_study_bad_input():
    with pytest.raises(ModelError, match="families: expected chain"):
        study(("ring",), (1,), (2,))
    with pytest.raises(ModelError, match="n: expected the dofs"):
        study(("chain",), (9,), (2,))
    with pytest.raises(ModelError, match="steps: expected at least 2"):
        study(("chain",), (1,), (2,), steps=1)
    with pytest.raises(MethodError, match="method: expected one of"):
        study(("chain",), (1,), (2,), ("emh",))


# ---- the command line ----


def command(*words):
    options = parser().parse_args(words)
    return COMMANDS[options.command].run(options)


def test_table1_command(capsys, tmp_path):
    path = tmp_path / "crane.json"
    mb.zoo.pipelayer().save(path)
    assert command("table1", str(path), "--no-times", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["formulas"] == mb.flops.table1(mb.zoo.pipelayer())
    assert command("table1", "star:2:3", "--no-times", "--format", "markdown") == 0
    assert "| emh-cholesky |" in capsys.readouterr().out


def test_diagram_command(capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / "map.png"
    assert command("diagram", "--dofs", "3", "--out", str(path), "--source", "table1-en", "--size", "8") == 0
    assert path.stat().st_size > 5000 and "HZU" in capsys.readouterr().out
    with pytest.raises(StateError, match="--out"):
        command("diagram", "--dofs", "3", "--out", str(tmp_path / "map.txt"))
    with pytest.raises(ModelError, match="n: expected the dofs"):
        command("diagram", "--dofs", "7", "--out", str(path))


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MbkernError, match=r"pip install 'mbkern\[viz\]'"):
        command("diagram", "--dofs", "3", "--out", str(tmp_path / "map.png"), "--source", "table1-en", "--size", "3")
    names = {path.name for path in Study(tuple(made_up(lambda N: N))).write(tmp_path, [])}
    assert names == {"scaling.csv", "exponents.csv", "claims.md"}


@pytest.mark.parametrize("text", ["nowhere.json", "chain:x", "chain", "pipelayer:3", "star:0:1", "chain:-2"])
def test_models_that_are_none(text):
    with pytest.raises(ModelError):
        model_named(text)
    assert model_named("random:6:2").n_bodies == 6
