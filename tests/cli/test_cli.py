"""The command line: what it prints and writes, how it fails."""

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern.cli import main
from mbkern.cli.flops import progress
from mbkern.errors import StateError
from mbkern.integrate.progress import Progress


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_default_job(tmp_path):
    """As a user types it, in a process of its own."""
    env = os.environ | {"PYTHONPATH": str(Path(mb.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-m", "mbkern"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for words in ("chain20", "20 bodies", "steps", "ns per body", "differ from those of", "energy drift",
                  "real-time factor", "t = 10 s"):
        assert words in run.stdout
    assert not list(tmp_path.iterdir())  # no file that nobody asked for


def test_a_picture_is_drawn_when_asked_for(here, capsys):
    pytest.importorskip("matplotlib")
    assert main(["chain:2", "--time", "0.1", "--picture", "run.png"]) == 0
    assert (here / "run.png").stat().st_size > 10_000 and "drew run.png" in capsys.readouterr().out


def test_a_bar_that_comes_late():
    stream = io.StringIO()
    bar = Progress(0.0, 1.0, stream, after=100.0)
    bar.show(0.5, 0.1, 5)
    bar.show(1.0, 0.1, 10, True)
    assert stream.getvalue() == ""
    Progress(0.0, 1.0, stream).show(0.5, 0.1, 5)
    assert "50%" in stream.getvalue()
    with pytest.raises(StateError, match="progress: expected True, False or a number of seconds, got -1"):
        mb.System(mb.zoo.chain(2)).simulate([0.0, 0.0], [0.0, 0.0], (0.0, 1.0), progress=-1.0)


@pytest.mark.parametrize("words", [
    "carousel:30", "binary:15 --integrator rk4", "pipelayer --method emh-lu", "chain:4 --integrator gauss4 --step 2e-3",
    "simulate chain:3 --seed 1 --progress", "random:5"])
def test_jobs(here, capsys, words):
    assert main([*words.split(), "--time", "0.2", "--no-picture"]) == 0
    shown = capsys.readouterr()
    assert "reached the end" in shown.out and "steps" in shown.out
    # against another formulation; 1e-10 as in test_dense
    assert float(re.search(r"differ from those of .* by (\S+) relative", shown.out)[1]) < 1e-10
    assert ("100%" in shown.err) == ("--progress" in words)
    assert not list(here.iterdir())


def test_what_cannot_be_checked_is_said(here, capsys):
    assert main(["carousel:201", "--time", "0.01", "--no-picture"]) == 0
    assert "check            none" in capsys.readouterr().out


def test_model_file_and_outputs(here, capsys):
    model = mb.zoo.chain(3)
    model.save("machine.json")
    job = ["machine.json", "--time", "0.5", "--frames", "11", "--no-picture"]
    assert main([*job, "--output", "motion.npz"]) == 0
    data = np.load("motion.npz")
    assert data["t"].tolist() == pytest.approx(np.linspace(0.0, 0.5, 11)) and data["q"].shape == (11, 3)
    assert main([*job, "--output", "motion.csv"]) == 0
    with open("motion.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["t", "q:body0", "q:body1", "q:body2", "p:body0", "p:body1", "p:body2", "kinetic", "potential",
                       "hamiltonian"]
    table = np.array(rows[1:], float)
    assert np.array_equal(table[:, 1:4], data["q"]) and np.array_equal(table[:, -1], data["hamiltonian"])
    direct = mb.System(model).simulate(np.zeros(3), np.zeros(3), (0.0, 0.5), t_eval=data["t"])
    assert np.array_equal(direct.q, data["q"])


@pytest.mark.parametrize("words, expected", [
    ("chain:x", "chain:N"), ("chain:0", "n: expected the number of bodies"),
    ("chian:20", "Did you mean 'chain:20'"), ("nosuch.json", "file"),
    ("chain:2 --method abc", "emh-ldl"), ("chain:2 --integrator euler", "rk4"), ("chain:2 --rtol 0", "rtol"),
    ("chain:2 --integrator rk4 --step -1", "step"), ("chain:2 --time 0", "time"), ("chain:2 --time nan", "time"),
    ("chain:2 --output motion.txt", ".npz"), ("chain:2 --frames 1", "frames"),
    ("chain:2 --time 0.01 --output none/such/folder.npz", "folder"), ("chain:2 --seed -1", "at least 0"),
    ("chain:2 --frames 1e11", "at most 10000000"), ("chain:2 --frames 100000000000", "at most 10000000"),
    ("chain:2 --limits soft", "no joint of this machine has limits"), ("chain:2 --friction", "has dry friction"),
    ("chain:99999999999999999999", "at most 1000000 bodies"), ("star:99999:99999", "at most 1000000 bodies"),
])
def test_errors_are_one_line(here, capsys, words, expected):
    assert main([*words.split(), "--no-picture"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("mbkern simulate: ") and shown.count("\n") == 1 and expected in shown


@pytest.mark.parametrize("words", ["chain:2 --picture run.xyz", "diagram --dofs 1 --out map"])
def test_a_kind_of_picture_that_cannot_be_drawn_shows_before_the_run(here, capsys, words):
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "expected a name that ends in" in shown.err


def test_a_picture_without_matplotlib_shows_before_the_run(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    assert main("chain:2 --picture run.png".split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "--picture run.png: needs matplotlib (pip install matplotlib)" in shown.err


def test_studies_show_how_far_they_are_in_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress(3, "maps") is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = progress(3, "maps")
    show(3)
    assert "0 of 3 maps" in sys.stderr.getvalue() and "3 of 3 maps" in sys.stderr.getvalue().splitlines()[-1]


@pytest.mark.parametrize("words", [
    "chain:2 --out none/motion.npz", "chain:2 --view none/motion.html", "chain:2 --picture none/motion.png",
    "chain:2 --out folder.csv", "diagram --dofs 1 --out none/map.png", "bench --out file.txt"])
def test_a_place_that_cannot_be_written_to_shows_before_the_run(here, capsys, words):
    (here / "folder.csv").mkdir()
    (here / "file.txt").write_text("")
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "folder" in shown.err


def test_a_name_in_capitals_is_kept(here):
    assert main("chain:2 --time 0.01 --no-picture --frames 1e1 --out X.NPZ".split()) == 0
    assert [path.name for path in here.iterdir()] == ["X.NPZ"] and np.load("X.NPZ")["t"].size == 10


def test_names_of_any_letters(here, capsys):
    """In tables with commas, on terminals that know little."""
    builder = mb.ModelBuilder()
    builder.add_body('the "big", one', joint=mb.revolute("x"), mass=1.0, com=(0.0, 0.0, -1.0))
    builder.add_body("Stütze ∂", 'the "big", one', mb.revolute("x"), mass=1.0, com=(0.0, 0.0, -1.0))
    builder.build().save("machine.json")
    assert main("machine.json --time 0.01 --no-picture --frames 2 --out motion.csv".split()) == 0
    with open("motion.csv", newline="", encoding="utf-8") as file:
        assert next(csv.reader(file))[1:3] == ['q:the "big", one', "q:Stütze ∂"]
    env = os.environ | {"PYTHONPATH": str(Path(mb.__file__).parents[1]), "PYTHONIOENCODING": "ascii"}
    run = subprocess.run([sys.executable, "-m", "mbkern", "info", "machine.json"], env=env, capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0 and "St\\xfctze \\u2202" in run.stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_goes_is_no_error():
    env = os.environ | {"PYTHONPATH": str(Path(mb.__file__).parents[1])}
    command = [sys.executable, "-m", "mbkern", "info", "chain:5000", "--bodies", "5000"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait(300) == 141


def test_a_run_that_fails(here, capsys):
    builder = mb.ModelBuilder()
    builder.add_body("carriage", joint=[mb.translate("x", mb.spline([0.0, 0.5, 1.0], [0.0, 0.1, 0.0]))], mass=1.0)
    builder.add_body("bob", "carriage", mb.revolute("y"), mass=1.0, com=(0.5, 0, 0))
    builder.build().save("machine.json")
    assert main(["machine.json", "--time", "2", "--no-picture", "--output", "part.npz"]) == 1
    assert "'carriage'" in capsys.readouterr().out
    assert np.load("part.npz")["t"][-1] <= 1.0


def test_help(capsys):
    for words in (["--help"], ["simulate", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as info:
            main(words)
        assert info.value.code == 0
    assert "mbkern 0" in capsys.readouterr().out
    with pytest.raises(SystemExit) as info:
        main(["chain:2", "--no-such-option"])
    assert info.value.code == 2


@pytest.mark.parametrize("command", ["simulate", "info", "bench", "table1", "export", "warmup"])
def test_what_a_command_does_not_take_is_said_with_its_own_usage(command, capsys):
    needed = {"export": ["chain:2", "--out", "x"], "info": ["chain:2"], "simulate": ["chain:2"]}.get(command, [])
    with pytest.raises(SystemExit) as stopped:
        main([command, *needed, "--colour", "red"])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert said.startswith(f"usage: python -m mbkern {command} ")
    assert "not understood: --colour" in said and f"{command} --help" in said
