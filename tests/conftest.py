"""Settings shared by all tests."""

import gc
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

TESTS = Path(__file__).parent

# Some thousand tests and hundreds of modules stay until the end: Python's garbage collector looks at none of them.
gc.disable()  # until all are collected

# A process that a shell started in the background ignores ctrl-C, and the tests of ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a property compiles kernels, so per-example deadlines mean nothing; derandomised runs
# keep a red build reproducible.
settings.register_profile(
    "mbkern",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mbkern")

# Among its examples are constants of all modules that are loaded: seconds to look for them in every process, and which
# examples there are would depend on the tests that run beside.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers.Constants()

# The quick set, `pytest -m quick`: under a minute with a warm cache, and it loads every module but __main__. Of these
# files all that is not slow; what a file costs is what it compiles, so they share models and methods.
QUICK = (
    "analytic/test_appell.py", "analytic/test_ignorable.py", "analytic/test_ode45.py", "batch/test_rhs_batch.py",
    "batch/test_vary.py", "core/test_carry.py", "core/test_joint_table.py", "core/test_numbers.py",
    "core/test_plain_kernels.py", "embed/test_embed_adapters.py", "embed/test_embed_errors.py",
    "flops/test_counting_numbers.py", "flops/test_table1.py", "flops/test_textbook.py",
    "integrate/test_integrate_kernels.py", "integrate/test_integrate_time.py",
    "io/test_mjcf.py", "io/test_to_urdf.py", "io/test_urdf_visuals.py",
    "model/test_builder.py", "model/test_digits_of_inertia.py", "model/test_drives.py", "model/test_frames.py",
    "model/test_frozen_model.py", "model/test_joint.py", "model/test_massless.py", "model/test_serial.py",
    "model/test_zoo.py", "test_energy.py", "test_golden.py", "test_hamilton.py", "test_kinematics.py",
    "test_packaging.py", "test_reference.py", "viz/test_meshes.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """How files are shared out to processes; here, as xdist need not be installed."""
    import longest_first

    gc.enable()  # this process collects nothing
    return longest_first.pytest_xdist_make_scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples are those of the package: files of tests have none, and to look for them takes seconds."""
    return [found for found in (yield) if not isinstance(found, pytest.Module) or type(found) is pytest.Module]


def pytest_collection_modifyitems(config, items):
    """Mark the quick set; in processes that share the tests, the longest first."""
    if hasattr(config, "workerinput"):
        from longest_first import in_turn

        turns = in_turn([item.nodeid for item in items])
        items.sort(key=lambda item: turns[item.nodeid])
    for item in items:
        place = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
        if place in QUICK and not (item.get_closest_marker("slow") or item.get_closest_marker("nightly")):
            item.add_marker(pytest.mark.quick)


def pytest_collection_finish(session):
    """Whether something was compiled so far, for a test: it would be, in every process."""
    gc.freeze()
    gc.enable()
    call = sys.modules.get("mbkern.workspace.builtin")
    session.config.compiled_at_collection = call is not None and call.call.ready
