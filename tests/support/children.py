"""Python programs in processes of their own, forked from one that has loaded Numba.

A new interpreter takes seconds to import Numba and what it needs to compile; a forked one begins where that is done.
mbkern itself is imported by each program, with the environment that it is given. What a program must not find loaded
(the tests of imports) and programs of the command line are started anew, by `subprocess`.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, BinaryIO

FOLDER = Path(__file__).parent
#: The path of a program that uses mbkern and what is beside this file.
FOLDERS = os.pathsep.join([str(FOLDER.parents[1]), str(FOLDER)])


def python(program: str, *arguments: str, env: dict[str, str] | None = None, cwd: str | Path | None = None,
           timeout: float = 300.0, check: bool = False) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, ...)`."""
    env = dict(os.environ) if env is None else env
    command = [sys.executable, "-c", program, *arguments]
    if not hasattr(os, "fork"):
        return subprocess.run(command, env=env, cwd=cwd, timeout=timeout, check=check, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as place:
        files = [os.path.join(place, name) for name in ("out", "err")]
        code = _Parent.of_this_process().run((program, arguments, env, os.fspath(cwd or os.getcwd()), files), timeout)
        out, err = (Path(file).read_text() for file in files)
    done = subprocess.CompletedProcess(command, code, out, err)
    if check:
        done.check_returncode()
    return done


class _Parent:
    """The process that the programs are forked from, as seen from here."""

    _mine: _Parent | None = None

    @classmethod
    def of_this_process(cls) -> _Parent:
        if cls._mine is None:
            cls._mine = cls()
            atexit.register(cls._mine.end)
        return cls._mine

    def __init__(self) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MBKERN_"))}
        plain.pop("PYTHONPATH", None)
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=plain, bufsize=0)  # what is read ahead is not there for `select`

    def run(self, request: Any, timeout: float) -> int:
        """The exit code of the program; one that does not end in time is ended with all that it has started."""
        _write(self.process.stdin, request)
        child = _read(self.process.stdout)
        late = not select.select([self.process.stdout], [], [], timeout)[0]
        if late:
            os.killpg(child, signal.SIGKILL)
        code = _read(self.process.stdout)
        if late:
            raise subprocess.TimeoutExpired(request[0], timeout)
        return code

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)


def _write(pipe: BinaryIO, thing: Any) -> None:
    data = pickle.dumps(thing)
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def _read(pipe: BinaryIO) -> Any:
    """None where the pipe is closed."""
    size = pipe.read(8)
    return pickle.loads(pipe.read(int.from_bytes(size, "little"))) if size else None


# ---- in the process that forks -------------------------------------------------------------------------------------

def serve() -> Any:
    """Returns in each forked process, with what it has to do; and at the end, with None."""
    import numba.core.registry

    target = numba.core.registry.cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()
    # unbuffered: nothing of the next request may be left in the memory of a child
    requests, answers = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb")
    while (request := _read(requests)) is not None:
        child = os.fork()
        if child == 0:
            os.setsid()  # so that all that it starts can be ended with it
            requests.close()
            answers.close()
            return request
        _write(answers, child)
        _write(answers, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return None


def become(arguments: tuple[str, ...], env: dict[str, str], cwd: str, files: list[str]) -> dict[str, Any]:
    """Be a new interpreter; the names that its program begins with."""
    import numba

    for number, (file, flags) in enumerate(((os.devnull, os.O_RDONLY),
                                            *((file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in files))):
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, closefd=False)
    sys.stdout, sys.stderr = (io.TextIOWrapper(open(number, "wb", 0, closefd=False), write_through=True)
                              for number in (1, 2))  # what is written is there, however the program ends
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    numba.core.config.reload_config()
    sys.argv = ["-c", *arguments]
    sys.path[:1] = ["", *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]  # the first was the folder of this
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    return vars(main)


if __name__ == "__main__":
    todo = serve()
    if todo is not None:
        program, *surroundings = todo
        names = become(*surroundings)
        exec(compile(program, "<string>", "exec"), names)
