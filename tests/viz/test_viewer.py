"""The page of `viewer`, in a real browser."""

import base64
import io
import json
import re
import time

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


def picture(browser):
    """What the 3D scene shows after everything is painted."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install mbkern[viz]")
    before = browser.run("mbkernViewer.state.frames")
    browser.run("document.getElementById('home').click()")
    browser.wait(f"mbkernViewer.state.frames > {before}")
    time.sleep(0.5)  # the damped camera comes to rest
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
    browser.run("document.getElementById('play').click()")
    browser.wait("mbkernViewer.state.time > 0.05")
    assert browser.run("document.getElementById('play').textContent") == "Pause"
    browser.run("document.getElementById('play').click()")
    stopped = browser.run("mbkernViewer.state.time")
    time.sleep(0.2)
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


def test_orbit_controls_turn_the_scene(browser):
    browser.run("mbkernViewer.setTime(0)")
    first = picture(browser)
    browser.press(600, 300, to=(800, 330))
    time.sleep(0.5)
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
