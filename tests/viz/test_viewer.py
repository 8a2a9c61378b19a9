"""The page of `viewer`, in a real browser."""

import base64
import io
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, chromium

import mbkern as mb
from mbkern import viz


@pytest.fixture(scope="module")
def solution():
    model = mb.zoo.chain(4, joint=mb.revolute("y"))
    return mb.System(model, "emh-ldl").simulate(model.neutral(), np.zeros(4), (0, 2), t_eval=np.linspace(0, 2, 81))


@pytest.fixture(scope="module")
def page(solution, tmp_path_factory):
    path = tmp_path_factory.mktemp("viewer") / "run.html"
    viz.viewer(solution, path, autoplay=False, title="A </script> of chains")
    return path


@pytest.fixture(scope="module")
def browser(page):
    if chromium() is None:
        pytest.skip("needs the browser Chromium (Debian: apt-get install chromium)")
    with Browser() as running:
        running.open(page)
        running.wait("globalThis.mbkernViewer && mbkernViewer.state.frames > 0")
        yield running


def rest(browser):
    """Until nothing has moved for some frames, as the damped camera and the colours do for a while."""
    browser.run("""new Promise(done => {
        let last = "", still = 0;
        const look = () => {
            const now = [mbkernViewer.state.frames, ...document.getAnimations().map(one => one.playState)].join();
            still = now === last && !now.includes("running") ? still + 1 : 0;
            last = now;
            still > 20 ? done(true) : requestAnimationFrame(look);
        };
        look();
    })""")


def picture(browser):
    """What the 3D scene shows after everything is painted."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install mbkern[viz]")
    before = browser.run("mbkernViewer.state.frames")
    browser.run("document.getElementById('home').click()")
    browser.wait(f"mbkernViewer.state.frames > {before}")
    rest(browser)
    shot = np.asarray(image.open(io.BytesIO(browser.screenshot())).convert("RGB"), dtype=float)
    return shot[110:600]  # without the panels


def test_the_page_holds_everything(page):
    text = page.read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", text)
    assert "fetch(" not in text.split('id="data"')[1]
    assert text.count("</script>") == 3  # the title could not end one


def contents(page):
    """What the page shows, as data."""
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])


def test_the_states_in_the_page(solution):
    text = viz.viewer(solution).html
    data = contents(text)
    [machine] = data["machines"]
    poses = np.frombuffer(base64.b64decode(machine["poses"]), "<f4").reshape(len(machine["times"]), -1, 7)
    k = 30
    _, r = solution.system.body_poses(solution.q[k])
    np.testing.assert_allclose(poses[k, :4, :3], r, atol=1e-6)  # single precision
    np.testing.assert_allclose(machine["energy"]["kinetic"], solution.energy().kinetic, rtol=1e-6, atol=1e-9)
    assert machine["bodies"] == list(solution.system.model.body_names)


def test_long_runs_are_thinned():
    model = mb.zoo.chain(2)
    times = np.linspace(0, 1, 20_001)
    solution = mb.System(model, "emh-ldl").simulate(model.neutral(), [0, 0], (0, 1), t_eval=times)
    times = contents(viz.viewer(solution).html)["machines"][0]["times"]
    assert len(times) <= 3000 and times[0] == 0 and times[-1] == 1


def test_it_loads_without_errors_and_network(browser):
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.run("document.getElementById('failed').style.display") == ""
    assert browser.run("document.querySelector('#about b').textContent") == "A </script> of chains"


def test_a_screenshot_shows_the_model(browser):
    browser.run("mbkernViewer.setTime(0)")
    shot = picture(browser)
    strong = np.ptp(shot, axis=2) > 60  # the colours of bodies and joints; floor and panels are grey
    assert 0.002 < strong.mean() < 0.5


def test_the_slider_changes_the_picture(browser):
    browser.run("mbkernViewer.setTime(0)")
    first = picture(browser)
    again = picture(browser)
    box = browser.run("(() => { const b = document.getElementById('time').getBoundingClientRect(); "
                      "return [b.left, b.top, b.width, b.height] })()")
    browser.press(box[0] + 0.4 * box[2], box[1] + box[3] / 2)
    browser.wait("mbkernViewer.state.time > 0.6 && mbkernViewer.state.time < 1.0")
    moved = picture(browser)
    changed = np.abs(moved - first).max(axis=2) > 40
    assert (np.abs(again - first).max(axis=2) > 40).mean() < 1e-4 < changed.mean()


def test_play_and_pause(browser):
    browser.run("mbkernViewer.setTime(0)")
    browser.run("(s => { s.value = '0.1'; s.dispatchEvent(new Event('change')) })(document.getElementById('speed'))")
    browser.run("document.getElementById('play').click()")
    browser.wait("mbkernViewer.state.time > 0.05")
    assert browser.run("document.getElementById('play').textContent") == "Pause"
    browser.run("document.getElementById('play').click()")
    stopped = browser.run("mbkernViewer.state.time")
    rest(browser)
    assert browser.run("mbkernViewer.state.time") == stopped


def test_speed_keys_and_energy_plot(browser):
    browser.run("(s => { s.value = '0.1'; s.dispatchEvent(new Event('change')) })(document.getElementById('speed'))")
    assert browser.run("mbkernViewer.state.speed") == 0.1
    browser.run("mbkernViewer.setTime(1)")
    browser.run("dispatchEvent(new KeyboardEvent('keydown', {code: 'ArrowRight'})), 0")
    assert browser.run("mbkernViewer.state.time") == pytest.approx(1.01)
    box = browser.run("(() => { const b = document.getElementById('energy').getBoundingClientRect(); "
                      "return [b.left, b.top, b.width, b.height] })()")
    browser.press(box[0] + 64 + 0.25 * (box[2] - 76), box[1] + 60)
    assert browser.run("mbkernViewer.state.time") == pytest.approx(0.5, abs=0.01)
    assert browser.run("+document.getElementById('time').value") == pytest.approx(0.5, abs=0.01)
    painted = browser.run("(c => { dispatchEvent(new Event('resize')); return c.getContext('2d').getImageData("
                          "0, 0, c.width, c.height).data.some(x => x) })(document.getElementById('energy'))")
    assert painted, "a new size leaves an empty plot until the next frame"


def test_orbit_controls_turn_the_scene(browser):
    browser.run("mbkernViewer.setTime(0)")
    first = picture(browser)
    browser.press(600, 300, to=(800, 330))
    rest(browser)
    image = pytest.importorskip("PIL.Image")
    turned = np.asarray(image.open(io.BytesIO(browser.screenshot())).convert("RGB"), dtype=float)[110:600]
    assert (np.abs(turned - first).max(axis=2) > 40).mean() > 1e-3


def test_nothing_went_wrong_meanwhile(browser):
    assert browser.errors == []


def test_notebook_and_files(solution, tmp_path):
    page = viz.viewer(solution)
    assert page._repr_html_().startswith("<iframe srcdoc=") and "&quot;" in page._repr_html_()
    assert page.save(tmp_path / "run.html").read_text() == page.html
    assert "MB page" in repr(page)


def test_a_run_back_in_time_and_a_single_state():
    model = mb.zoo.chain(2)
    system = mb.System(model, "emh-ldl")
    back = system.simulate(model.neutral(), [0, 0], (1, 0), t_eval=[1.0, 0.5, 0.0])
    assert contents(viz.viewer(back).html)["machines"][0]["times"] == [0.0, 0.5, 1.0]
    assert "<script" in viz.viewer(system.simulate(model.neutral(), [0, 0], (0, 1), t_eval=[0.0])).html


# ---- several machines, data of one's own, forces --------------------------------------------------------------------


def test_several_solutions_are_ghosts_or_stand_side_by_side(solution):
    ghosts = contents(viz.viewer([solution, solution], names=["before", "after"]).html)["machines"]
    assert [machine["ghost"] for machine in ghosts] == [False, True]
    assert [machine["name"] for machine in ghosts] == ["before", "after"]
    other = mb.zoo.chain(2)
    run = mb.System(other, "emh-ldl").simulate(other.neutral(), [0, 0], (0, 1))
    row = contents(viz.viewer([solution, run]).html)["machines"]
    assert not any(machine["ghost"] for machine in row) and row[1]["offset"][0] > 0.5


def test_data_of_ones_own():
    model = mb.zoo.chain(2, joint=mb.revolute("y"))
    data = contents(viz.viewer(model, [0, 1, 2], [[0, 0], [0.1, 0.2], [0.2, 0.4]]).html)
    [machine] = data["machines"]
    assert machine["times"] == [0, 1, 2] and "energy" not in machine
    poses = np.frombuffer(base64.b64decode(machine["poses"]), "<f4").reshape(3, -1, 7)
    _, r = mb.System(model, "emh-ldl").body_poses([0.1, 0.2])
    np.testing.assert_allclose(poses[1, :2, :3], r, atol=1e-6)


def test_joint_forces_are_those_of_the_system(solution):
    [machine] = contents(viz.viewer(solution, forces=True).html)["machines"]
    values = np.frombuffer(base64.b64decode(machine["forces"]["values"]), "<f4").reshape(-1, 4, 3)
    system, k = solution.system, 40
    R, _ = system.body_poses(solution.q[k])
    expected = np.einsum("nij,nj->ni", R, system.reactions(solution.q[k], solution.p[k])[:, :3])
    np.testing.assert_allclose(values[k], expected, rtol=1e-4, atol=1e-4)


def test_welded_bodies_share_a_track():
    b = mb.ModelBuilder()
    b.add_body("arm", joint=mb.revolute("y"), mass=1, com=(0.5, 0, 0))
    b.add_body("hand", "arm", mass=0.1, position=(1, 0, 0))
    b.add_body("tool", "hand", joint=mb.revolute("z"), mass=0.1, com=(0, 0.1, 0), position=(0.2, 0, 0))
    b.add_frame("tip", "hand", position=(0, 0, 0.3))
    [machine] = contents(viz.viewer(b.build(), [0], [[0, 0]]).html)["machines"]
    assert machine["tracks"] == 2
    assert {frame["name"]: (frame["track"], frame["at"]) for frame in machine["frames"]} == {
        "arm": (0, [0, 0, 0]), "hand": (0, [1, 0, 0]), "tool": (1, [0, 0, 0]), "tip": (0, [1, 0, 0.3])}


@pytest.mark.parametrize(("arguments", "options", "message"), [
    (([],), {}, "expected a Solution"),
    ((["run"],), {}, "expected Solutions"),
    ((mb.zoo.chain(2),), {}, "give the times t .* and the configurations q"),
    ((mb.zoo.chain(2), [0, 1], [[0, 0]]), {}, r"q must be finite numbers of shape \(2, 2\)"),
    ((mb.zoo.chain(2), [1, 0], [[0, 0]] * 2), {}, "rising times"),
    ((mb.zoo.chain(2), [0], [[0, np.nan]]), {}, "q must be finite"),
    ((mb.zoo.chain(1, joint=mb.ball()), [0], [[0, 0, 0, 0]]), {}, "quaternion of length 0"),
    ((mb.zoo.chain(2), [0], [[0, 0]]), {"theme": "blue"}, "theme: expected"),
    ((mb.zoo.chain(2), [0], [[0, 0]]), {"layout": "heap"}, "layout: expected"),
    ((mb.zoo.chain(2), [0], [[0, 0]]), {"names": ["a", "b"]}, "expected 1 names"),
])
def test_bad_input(arguments, options, message):
    with pytest.raises(mb.errors.MbkernError, match=message):
        viz.viewer(*arguments, **options)


def push(t, q, p, u, out):
    out[0] = 3.0 * t - u[0]


@pytest.mark.parametrize("tau", [np.array([1.0, -2.0]), push], ids=["numbers", "function"])
def test_forces_of_a_run_with_joint_forces(tau):
    model = mb.zoo.chain(2)
    system = mb.System(model, "emh-ldl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # plain Python is slow
        run = system.simulate(model.neutral(), [0, 0], (0, 0.1), tau=tau, wrench=np.ones((2, 6)))
    [machine] = contents(viz.viewer(run, forces=True).html)["machines"]
    values = np.frombuffer(base64.b64decode(machine["forces"]["values"]), "<f4").reshape(-1, 2, 3)
    given = tau if isinstance(tau, np.ndarray) else np.array([3.0 * run.t[-1] - run.u[-1, 0], 0.0])
    R, _ = system.body_poses(run.q[-1])
    expected = system.reactions(run.q[-1], run.p[-1], tau=given, wrench=np.ones((2, 6)))[:, :3]
    np.testing.assert_allclose(values[-1], np.einsum("nij,nj->ni", R, expected), rtol=1e-4, atol=1e-4)


def test_forces_of_a_run_by_a_controller_are_refused():
    model = mb.zoo.chain(2)
    run = mb.System(model, "emh-ldl").simulate(model.neutral(), [0, 0], (0, 0.1), tau=lambda t, q, p: np.ones(2),
                                               control_step=0.05)
    with pytest.raises(mb.errors.IntegrationError, match="came from a controller in Python"):
        viz.viewer(run, forces=True)


# ---- pictures that a person would accept ----------------------------------------------------------------------------


def robot(name):
    from importlib import metadata

    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        pytest.skip("needs robot files: pip install mbkern[peers]")
    path = next(Path(str(file.locate())) for file in files if file.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.errors.ModelWarning)
        return mb.load_urdf(path)


def pendulum():
    b = mb.ModelBuilder(name="pendulum")
    b.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    return b.build()


MACHINES = {
    "panda": (lambda: robot("panda.urdf"), [0, -0.6, 0, -2.2, 0, 1.7, 0.8, 0.03, 0.03]),
    "talos": (lambda: robot("talos_full_v2.urdf"), None),
    "pendulum": (pendulum, [0.7]),
    "satellite": (mb.zoo.satellite_with_boom, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_machines_fill_the_picture_in_both_themes(name, browser, tmp_path):
    """Not empty, in the middle, not cut off, the ground light or dark, and the page small."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install mbkern[viz]")
    make, q = MACHINES[name]
    model = make()
    path = tmp_path / f"{name}.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every mesh is found
        page = viz.viewer(model, [0.0], [model.neutral() if q is None else q], path=path, autoplay=False)
    assert len(page.html) < 5_000_000
    browser.open(path)
    browser.wait("globalThis.mbkernViewer && mbkernViewer.state.frames > 0")
    for layer in ("world", "com"):  # lines that do not belong to the machine
        browser.run(f"(b => {{ if (b && b.checked) b.click() }})(document.getElementById('show-{layer}'))")
    shots = {}
    for theme in ("light", "dark"):
        browser.run(f"mbkernViewer.setTheme('{theme}')")
        rest(browser)
        shots[theme] = np.asarray(image.open(io.BytesIO(browser.screenshot())).convert("RGB"), dtype=float)[:740]
    assert shots["light"][400, 1190].mean() > 200 and shots["dark"][400, 1190].mean() < 80
    same = np.abs(shots["light"] - shots["dark"]).mean(axis=2) < 40  # the machine has its colours in both
    same[:170, 1000:] = same[:80, :300] = same[700:, :120] = False  # the cards
    rows, columns = np.flatnonzero(same.sum(axis=1) > 5), np.flatnonzero(same.sum(axis=0) > 5)
    assert 0.02 < same.mean() < 0.6
    assert rows.min() > 3 and rows.max() < 736 and columns.min() > 5 and columns.max() < 1195  # not cut off
    assert np.ptp(rows) > 350 or np.ptp(columns) > 550  # large enough
    assert abs(0.5 * (columns.min() + columns.max()) - 600) < 200
    assert browser.errors == []
