"""Files that cannot be read, or not be written: an error that names the file, and nothing half-written remains."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import hostile
import numpy as np
import pytest
from processes import printed

import mbkern as mb
from mbkern import files
from mbkern.errors import FileError, IntegrationError, MbkernError, MissingFileError, ModelError

MODEL = mb.zoo.chain(3)
MJCF = b'<mujoco><worldbody><body><joint/><geom size="0.1" contype="0" conaffinity="0"/></body></worldbody></mujoco>'


# what a file of each kind holds, and what reads it
KINDS = {
    "model.json": (MODEL.to_json().encode(), mb.load),
    "robot.urdf": (MODEL.to_urdf().encode(), mb.load_urdf),
    "robot.xml": (MJCF, mb.load_mjcf),
}


def damaged(name, how):
    """A file of that kind with something wrong, and what the message says."""
    good, _ = KINDS[name]
    return {
        "empty": (b"", "not a JSON text|not well-formed"),
        "truncated": (good[:len(good) // 2], "not a JSON text|not well-formed"),
        "last byte missing": (good.rstrip()[:-1], "not a JSON text|not well-formed"),
        "bytes that are no text": (good[:40] + b"\xff\xfe\x00" + good[40:], "not a text file|not well-formed"),
        "another kind": (b"PK\x03\x04" + b"\0" * 50, "not a JSON text|not a text file|not well-formed"),
        "null characters": (b"\0" * 100, "not a JSON text|not well-formed"),
    }[how]


@pytest.mark.parametrize("how", ["empty", "truncated", "last byte missing", "bytes that are no text", "another kind",
                                 "null characters"])
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_named_and_refused(name, how, tmp_path):
    if name == "robot.xml":
        pytest.importorskip("mujoco")
    content, message = damaged(name, how)
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        KINDS[name][1](path)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", KINDS)
def test_a_file_that_cannot_be_read_is_named(name, tmp_path):
    if name == "robot.xml":
        pytest.importorskip("mujoco")
    load = KINDS[name][1]
    with pytest.raises(MissingFileError, match=name):
        load(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ModelError, match=f"cannot read.*{name}"):
        load(tmp_path / name)
    for path in (tmp_path / "closed" / name, tmp_path / "loop"):
        path.parent.mkdir(exist_ok=True)
        if path.name == "loop":
            path.symlink_to(path)
        else:
            path.write_bytes(KINDS[name][0])
            path.chmod(0)
            if os.access(path, os.R_OK):  # who may read everything
                continue
        with pytest.raises(ModelError, match="cannot read"):
            load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_a_model_of_another_version_is_refused(version, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**MODEL.to_dict(), "version": version}))
    with pytest.raises(ModelError, match=r"model\.json: .*version"):
        mb.load(path)


# ---- writing ----


def csv_of(path):
    from mbkern.cli.simulate import write

    class Run:
        """What `write` needs of a solution."""

        system = type("System", (), {"model": MODEL})
        t, q, p = np.arange(5.0), np.zeros((5, 3)), np.ones((5, 3))
        energy = staticmethod(lambda: (np.zeros(5),) * 3)

    write(Run, Path(path))


def page_of(path):
    from mbkern.viz.viewer import Viewer

    Viewer("<html>" + "x" * 5000 + "</html>").save(path)


def run_of(path):
    """A run that has no machine code in it: what `save` needs of a solution is its archive."""
    files.write(path, lambda file: np.savez(file, q=np.ones((5, 3)), t=np.arange(5.0)), "save")


WRITERS = {"model.json": MODEL.save, "run.csv": csv_of, "page.html": page_of, "run.npz": run_of}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_disk_that_is_full_leaves_the_file_that_was_there(name, failing, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_text("before")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    if failing == "write":
        monkeypatch.setattr(files, "_fill", full)
    else:
        monkeypatch.setattr(os, failing, full)
    with pytest.raises(FileError, match=f"{name}.*No space left on device"):
        WRITERS[name](path)
    assert path.read_text() == "before" and os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_cannot_be_written_is_named(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / name, tmp_path / "folder", tmp_path / "file" / name, f"{tmp_path}/a\0b"):
        with pytest.raises(FileError, match="cannot write") as caught:
            WRITERS[name](path)
        assert isinstance(caught.value, MbkernError) and isinstance(caught.value, OSError)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"] and not os.listdir(tmp_path / "folder")


@pytest.mark.parametrize("path", [None, 5, 1.5, b"abc", ["a"], len, np.zeros(2), hostile.Raising(), hostile.endless()],
                         ids=repr)
def test_what_is_no_name_of_a_file_is_refused(path):
    for writer in (MODEL.save, page_of, run_of):
        with pytest.raises(FileError, match="path: expected the name of a file, got"):
            writer(path)
    for load, error in ((mb.load, ModelError), (mb.Solution.load, IntegrationError)):
        with pytest.raises(error, match="load: path: expected the name of a file, got"):
            load(path)
    for name in ("a\0b", "\ud800"):
        with pytest.raises(ModelError, match="load: cannot read"):
            mb.load(name)


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_takes_the_place_of_what_was_there(name, tmp_path):
    target, link = tmp_path / name, tmp_path / f"link to {name}"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    WRITERS[name](link)
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640 and target.stat().st_size > 100
    assert len(os.listdir(tmp_path)) == 2
    WRITERS[name](os.devnull)
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full on this system")
@pytest.mark.parametrize("name", WRITERS)
def test_a_device_without_space(name):
    """The system's own error, not one that a test put there."""
    with pytest.raises(FileError, match="cannot write '/dev/full': No space left on device"):
        WRITERS[name]("/dev/full")


def test_a_limit_of_the_size_of_files():
    """The system itself refuses in the middle of writing."""
    pytest.importorskip("resource")
    assert printed("""
import os, resource, signal, tempfile
import mbkern as mb
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
small, large = mb.zoo.chain(2), mb.zoo.chain(200)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.json")
    small.save(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        large.save(path)
        print("no error")
    except mb.errors.FileError as error:
        print("too large" in str(error), path in str(error), os.listdir(folder), mb.load(path) == small)
""") == "True True ['model.json'] True"
