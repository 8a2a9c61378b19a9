"""Pictures by matplotlib: frames are those of the kernels, files are written, bad input is explained."""

import hostile
import numpy as np
import pytest
from hostile import (
    NAN,
    Raising,
    Stranger,
    arrays,
    counts,
    endless,
    flags,
    lists_of_names,
    names,
    numbers,
    paths,
    things,
)

import mbkern as mb
from mbkern.derivatives import Modes
from mbkern.errors import MbkernError, MethodError, StateError
from mbkern.viz import scene

matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib: pip install mbkern[viz]")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from mbkern import viz  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def solution():
    model = mb.zoo.chain(4, joint=mb.revolute("y"))
    return mb.System(model, "emh-ldl").simulate(model.neutral(), np.zeros(4), (0, 1), t_eval=np.linspace(0, 1, 41))


@pytest.mark.parametrize("seed", range(4))
def test_frames_are_those_of_the_kernels(seed):
    model = mb.zoo.random_tree(14, seed=seed)
    q, _ = model.random_state(seed)
    R, r = mb.System(model, "emh-ldl").body_poses(q, 0.7)
    drawn = scene.build(model, q[None, :], np.array([0.7]), 1000)
    np.testing.assert_allclose(drawn.rotation[0, : model.n_bodies], R, atol=1e-12)
    np.testing.assert_allclose(drawn.position[0, : model.n_bodies], r, atol=1e-12)


def test_every_body_with_mass_and_every_moving_step_is_drawn():
    model = mb.zoo.random_tree(14, seed=1)
    shapes = scene.build(model, model.neutral()[None, :], np.zeros(1), 1000).shapes
    drawn = {shape.body for shape in shapes if shape.role == "body"}
    assert {i for i, body in enumerate(model.body_specs) if body.mass > 0} <= drawn
    steps = model.steps
    for role, codes in {"revolute": steps.move == 0, "prismatic": steps.move == 1, "ball": steps.move == 2}.items():
        assert sum(shape.role == role for shape in shapes) == np.sum(codes & (steps.kind != 1)), role


def test_up_is_against_gravity():
    b = mb.ModelBuilder(gravity=(0, -9.81, 0))
    b.add_body("bob", joint=mb.revolute("z"), mass=1, com=(0, -0.5, 0))
    drawn = scene.build(b.build(), np.zeros((1, 1)), np.zeros(1), 1000)
    np.testing.assert_allclose(drawn.up @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(drawn.up @ drawn.up.T, np.eye(3), atol=1e-15)
    assert drawn.floor < -0.5  # below the bob


def test_draw_paints_something(tmp_path):
    model = mb.zoo.pipelayer()
    axes = viz.draw(model, [0, 0, 0, 0.4, 0.5, 1.0], frames=True, names=True)
    axes.figure.savefig(tmp_path / "a.png")
    image = pyplot.imread(tmp_path / "a.png")[..., :3]
    assert 0.01 < np.mean(np.abs(image - image[0, 0]).max(axis=2) > 0.2) < 0.9  # neither empty nor full
    assert {text.get_text().strip() for text in axes.texts} == set(model.body_names)
    viz.draw(model, axes=pyplot.figure().add_subplot(projection="3d"))


def test_centres_of_mass_are_seen_through_the_bodies():
    model = mb.zoo.chain(3, joint=mb.revolute("y"))
    q = [0.3, 0.4, -0.9]
    R, r = mb.System(model, "emh-ldl").body_poses(q)
    expected = r + np.einsum("nij,nj->ni", R, model.bodies.com)
    dots = [line for line in viz.draw(model, q).lines if line.get_marker() == "o"]
    upright = scene._upright(model.gravity)
    np.testing.assert_allclose(np.column_stack(dots[0].get_data_3d()) @ upright, expected, atol=1e-12)
    assert not len(viz.draw(model, q, com=False).lines[0].get_data_3d()[0])


def test_machines_with_shapes_are_drawn_with_them():
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    bare = scene.build(b.build(), np.zeros((1, 1)), np.zeros(1), 1000)
    for kind, size in (("box", (1, 1, 1)), ("sphere", 1), ("cylinder", (1, 1)), ("capsule", (1, 1)),
                       ("ellipsoid", (1, 2, 3)), ("mesh", None)):
        b.add_visual("arm", kind, size, color="#00ff00",
                     mesh=([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]) if kind == "mesh" else None)
    drawn = scene.build(b.build(), np.zeros((1, 1)), np.zeros(1), 1000)
    assert {shape.kind for shape in bare.shapes if shape.role == "body"} == {"cylinder", "capsule"}  # solid and rod
    assert [shape.kind for shape in drawn.shapes if shape.role == "body"] == [
        "box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh"]
    assert drawn.reach(np.array([0]))[0].max(axis=0) == pytest.approx([1, 2, 3])
    figure = viz.draw(b.build()).figure
    figure.canvas.draw()
    image = np.asarray(figure.canvas.buffer_rgba(), dtype=float)
    assert (image[..., 1] > image[..., 0] + 100).mean() > 0.02


def test_bodies_without_shapes_have_the_size_of_their_inertia():
    """A bar that hangs at its end is twice as long as the way to its middle; a free body alone has its inertia only."""
    b = mb.ModelBuilder()
    b.add_body("rod", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0.001))
    hanging = scene.build(b.build(), np.zeros((1, 1)), np.zeros(1), 1000)
    assert hanging.reach(np.array([0]))[0][:, 2].min() == pytest.approx(-1.0, abs=0.02)
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("body", joint=mb.free(), mass=12.0, inertia=(13.0, 10.0, 5.0))  # a box of 1, 2 and 3 m
    model = b.build()
    alone = scene.build(model, model.neutral()[None], np.zeros(1), 1000)
    [box] = [shape for shape in alone.shapes if shape.role == "body"]
    assert box.kind == "box" and sorted(box.size) == pytest.approx([1.0, 2.0, 3.0])
    assert alone.size == pytest.approx(14.0**0.5)


def test_a_moved_machine_is_another_picture():
    model = mb.zoo.chain(3, joint=mb.revolute("y"))
    images = []
    for q in (None, None, [0.5, 0, 0]):
        figure = viz.draw(model, q).figure
        figure.canvas.draw()
        images.append(np.asarray(figure.canvas.buffer_rgba(), dtype=float))
    assert np.abs(images[1] - images[0]).max() == 0 and np.abs(images[2] - images[0]).max() > 50


def test_animate_writes_a_gif(solution, tmp_path):
    from PIL import Image

    path = tmp_path / "chain.gif"
    viz.animate(solution, path, fps=10, dpi=40)
    with Image.open(path) as film:
        assert film.n_frames == 11
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(5)
        assert np.abs(np.asarray(film.convert("RGB"), dtype=float) - first).max() > 50


def test_animate_writes_html_and_mp4(solution, tmp_path):
    viz.animate(solution, tmp_path / "chain.html")
    assert (tmp_path / "chain.html").stat().st_size > 500_000
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        with pytest.raises(MethodError, match="ffmpeg"):
            viz.animate(solution, tmp_path / "chain.mp4")
        return
    viz.animate(solution, tmp_path / "chain.mp4", fps=5, dpi=40)
    assert (tmp_path / "chain.mp4").read_bytes()[4:8] == b"ftyp"


def test_plot_tree(tmp_path):
    model = mb.zoo.binary_tree(15)
    axes = viz.plot_tree(model)
    words = [text.get_text() for text in axes.texts]
    assert set(model.body_names) <= set(words) and words.count("1") == 15 and "world" in words
    x, y = viz.topology.layout(model)
    assert x[:-1].tolist() == [1, 2, 2, 3, 3, 3, 3] + [4] * 8
    assert len({(a, b) for a, b in zip(x, y, strict=True)}) == 16  # no two nodes in one place
    assert len(viz.plot_tree(mb.zoo.chain(100)).texts) == 0


def test_bad_input(solution, tmp_path):
    with pytest.raises(MethodError, match="expected a Model"):
        viz.draw("arm")
    with pytest.raises(StateError, match="q"):
        viz.draw(mb.zoo.chain(3), [0, 0])
    with pytest.raises(MethodError, match="three-dimensional"):
        viz.draw(mb.zoo.chain(3), axes=pyplot.figure().add_subplot())
    with pytest.raises(MethodError, match=r"\.mp4, \.gif or \.html"):
        viz.animate(solution, tmp_path / "film.avi")
    with pytest.raises(MethodError, match="too many"):
        viz.plot_tree(mb.zoo.chain(1000))
    with pytest.raises(MbkernError, match="expected a Solution"):
        viz.viewer("run")


@pytest.fixture(scope="module")
def calls(solution, tmp_path_factory):
    model, system, folder = solution.system.model, solution.system, tmp_path_factory.mktemp("hostile")
    short = solution.resample([0.0, 0.1])
    looks = dict(frames=(flags, False), com=(flags, True), view=(arrays, np.array([18.0, -58.0])))
    swinging = Modes(np.ones(2), np.zeros(2), np.ones(2), np.ones((4, 2)))
    return {
        "draw": (viz.draw, dict(model=(things, model), q=(arrays, np.ones(4)), t=(numbers, 0.0), names=(flags, False),
                                legend=(flags, True), **looks), {}),
        "draw axes": (viz.draw, dict(axes=(things, None)), dict(model=model)),
        "plot_tree": (viz.plot_tree, dict(model=(things, model), names=(flags, True), axes=(things, None)), {}),
        "animate": (viz.animate, dict(solution=(things, short), fps=(counts, 5), speed=(numbers, 1.0),
                                      dpi=(counts, 50)), {}),
        "animate out": (viz.animate, dict(out=(paths, str(folder / "film.gif"))), dict(solution=short, fps=5, dpi=20)),
        "animate_mode": (viz.animate_mode, dict(
            system=(things, system), q=(arrays, np.ones(4)), modes=(things, swinging), k=(indices, 0),
            amplitude=(numbers, 0.3), swings=(counts, 1), dpi=(counts, 20)), {}),
        "viewer": (viz.viewer, dict(
            path=(paths, str(folder / "run.html")), title=(titles, "run"), forces=(flags, False),
            autoplay=(flags, True), theme=(names, "dark"), layout=(names, "side"), names=(titles, ["run"])),
            dict(shown=short)),
        "viewer of a model": (viz.viewer, dict(t=(arrays, np.arange(2.0)), q=(arrays, np.ones((2, 4)))),
                              dict(shown=model)),
        "plot": (solution.plot, dict(coordinates=(lists_of_names, [model.coordinate_names[0]]), axes=(things, None)),
                 {}),
        "selection_figure": (mb.flops.selection_figure, dict(
            path=(paths, str(folder / "map.png")), sources=(lists_of_names, ["table1-en"])),
            dict(n=1, max_length=2, max_chains=2)),
    }


def titles(right):
    for bad in (5, NAN, [5], {}, Stranger(), Raising(), endless(), b"abc"):
        yield False, repr(bad)[:30], bad


def indices(right):
    for is_right, what, value in counts(right):
        yield (None if what == "0" else is_right), what, value


@pytest.mark.filterwarnings("ignore:Animation was deleted")
@pytest.mark.parametrize("name", ["draw", "draw axes", "plot_tree", "animate", "animate out", "animate_mode", "viewer",
                                  "viewer of a model", "plot", "selection_figure"])
def test_arguments_that_are_wrong(name, calls):
    """Errors of matplotlib came, or a picture from nowhere; a speed of 1e-300 filled the memory."""
    call, kinds, fixed = calls[name]

    def made(**given):
        call(**fixed, **given)
        pyplot.close("all")
        return ()

    assert not hostile.check(made, {a: kind for a, (kind, _) in kinds.items()}, {a: x for a, (_, x) in kinds.items()})


def test_a_title_of_half_a_character_is_written(tmp_path):
    viz.viewer(mb.zoo.chain(1), [0.0], [[0.1]], title="half \ud800", path=tmp_path / "page.html")
    assert b"half ?" in (tmp_path / "page.html").read_bytes()
