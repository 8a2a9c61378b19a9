"""Ctrl-C in the middle of a call, however fast or busy the machine is."""

import faulthandler
import os
import signal
import threading
import time
from contextlib import contextmanager

from mbkern.integrate.progress import Interrupt

LONGEST = 300.0  # seconds until what goes on after ctrl-C counts as a call that never ends, which ends this process
TICK = 0.005


def _watched():
    """Whether somebody watches for ctrl-C, who would keep what there is."""
    return isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Interrupt)


@contextmanager
def ctrl_c(seconds=0.3, watched=True, clock=time.process_time):
    """Within the block, ctrl-C is pressed once: after so many seconds of processor time, which begin when somebody
    watches for it (`watched`) or at once. What is not over long after that ends the process."""
    over = threading.Event()

    def press():
        while watched and not _watched():
            if over.wait(TICK):
                return
        begin = clock()
        while clock() - begin < seconds:
            if over.wait(TICK):
                return
        os.kill(os.getpid(), signal.SIGINT)
        if not over.wait(LONGEST):
            faulthandler.dump_traceback()
            os._exit(1)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
    thread.join()


def assert_ctrl_c_ends(call, seconds=0.3, watched=True, clock=time.process_time):
    """It ends by KeyboardInterrupt."""
    import pytest  # here: programs in processes of their own press ctrl-C too

    with pytest.raises(KeyboardInterrupt), ctrl_c(seconds, watched, clock):
        call()
