"""FMUs: valid for FMPy, and in both modes the motion of `simulate`."""

import shutil
import subprocess

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.cli import main

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the path")
VERSIONS = pytest.mark.parametrize("version", ["2.0", "3.0"])
START = np.array([0.4, -0.3]), np.array([0.2, 0.1])
PUSH = np.array([0.3, -0.2])


@numba.njit
def at_the_side(t, q, p):
    return max(q[0] + 0.2, 1.1 - t)  # positive in the first second, then a crossing with each swing


def arm():
    b = mb.ModelBuilder(name="arm")
    b.add_body("upper", joint=mb.revolute("y"), mass=1.2, com=(0, 0, -0.3), inertia=(0.03, 0.03, 0.01), damping=0.1)
    b.add_body("fore", "upper", mb.revolute("x"), 0.8, (0, 0.05, -0.25), (0.02, 0.02, 0.01), (0, 0, -0.6))
    b.add_frame("hand", "fore", (0, 0, -0.5))
    return b.build()


@pytest.fixture(scope="module")
def system():
    return mb.System(arm(), "emh-ldl")


@pytest.fixture(scope="module")
def paths(system, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmu")
    return {version: mb.export.fmu(
        system, folder / f"arm{version[0]}.fmu", version, outputs=("energy", "u", "pose.hand"),
        inputs=("tau", "wrench.fore"), parameters=("gravity", "fore.mass"), start=START,
        events=mb.event(at_the_side, terminal=2)) for version in ("2.0", "3.0")}


@VERSIONS
def test_valid(paths, version):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(paths[version])) == []
    description = fmpy.read_model_description(str(paths[version]))
    assert description.fmiVersion.startswith(version) and description.numberOfContinuousStates == 4
    names = [variable.name for variable in description.modelVariables]
    assert {"q.upper", "p.fore", "der(p.upper)", "tau.fore", "wrench.fore.mz", "energy.hamiltonian", "u.upper",
            "pose.hand.R33", "gravity[3]", "fore.mass"} <= {*names}


def simulated(path, kind, stop=1.0, **options):
    outputs = ["q.upper", "q.fore", "p.upper", "p.fore", "energy.hamiltonian", "u.upper", "pose.hand.x",
               "pose.hand.R12"]
    return fmpy.simulate_fmu(str(path), fmi_type=kind, stop_time=stop, output_interval=0.05, relative_tolerance=1e-9,
                             output=outputs, **options)


@VERSIONS
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_motion_is_that_of_simulate(paths, system, version, kind):
    table = simulated(paths[version], kind, start_values={"tau.upper": PUSH[0], "tau.fore": PUSH[1]})
    assert table["time"][-1] == pytest.approx(1.0)
    expected = system.simulate(*START, (0.0, 1.0), rtol=1e-11, atol=1e-12, t_eval=table["time"].clip(0.0, 1.0),
                               tau=PUSH)
    # relative tolerance 1e-9 of the importer's CVODE, or of dopri5; errors add up over the run
    tolerance = 2e-6 if kind == "ModelExchange" else 1e-7
    got = np.array([table["q.upper"], table["q.fore"], table["p.upper"], table["p.fore"]]).T
    assert np.abs(got - np.hstack([expected.q, expected.p])).max() < tolerance
    q, p = got[-1][:2], got[-1][2:]
    R, r = system.frame_pose(q, "hand")
    assert table["energy.hamiltonian"][-1] == pytest.approx(system.energy(q, p).hamiltonian, rel=1e-9)
    assert table["u.upper"][-1] == pytest.approx(system.velocities(q, p)[0], rel=1e-9)
    assert table["pose.hand.x"][-1] == pytest.approx(r[0]) and table["pose.hand.R12"][-1] == pytest.approx(R[0, 1])


@VERSIONS
def test_parameters_and_wrenches(paths, system, version):
    table = simulated(paths[version], "CoSimulation", start_values={
        "gravity[1]": 1.0, "gravity[3]": -3.0, "fore.mass": 2.0, "wrench.fore.fy": 0.7, "wrench.fore.mx": 0.1})
    model = system.model.vary(gravity=[[1.0, 0, -3.0]]).vary(body="fore", mass=[2.0]).model_of(0)
    wrench = np.zeros((2, 6))
    wrench[1, 1], wrench[1, 3] = 0.7, 0.1
    expected = mb.System(model).simulate(*START, (0.0, 1.0), rtol=1e-11, atol=1e-12, wrench=wrench)
    assert abs(table["q.fore"][-1] - expected.q[-1, 1]) < 1e-7 and abs(table["p.upper"][-1] - expected.p[-1, 0]) < 1e-7


@VERSIONS
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_terminal_events_end_the_simulation(paths, system, version, kind):
    expected = system.simulate(*START, (0.0, 10.0), rtol=1e-11, atol=1e-12, events=mb.event(at_the_side, terminal=2))
    assert expected.status == "event"
    options = dict(early_return_allowed=True) if (version, kind) == ("3.0", "CoSimulation") else {}
    table = simulated(paths[version], kind, stop=10.0, **options)
    # the importer looks for events of Model Exchange to its own tolerance
    assert table["time"][-1] == pytest.approx(expected.t[-1], abs=1e-4 if kind == "ModelExchange" else 1e-6)


def test_without_early_return_the_step_is_finished_first(paths, system):
    expected = system.simulate(*START, (0.0, 10.0), rtol=1e-11, atol=1e-12, events=mb.event(at_the_side, terminal=2))
    end = simulated(paths["3.0"], "CoSimulation", stop=10.0)["time"][-1]
    assert expected.t[-1] <= end <= expected.t[-1] + 0.0501


def opened(path, version):
    """An instance for Co-Simulation, initialized."""
    folder = fmpy.extract(str(path))
    description = fmpy.read_model_description(folder)
    kind = fmpy.fmi3.FMU3Slave if version == "3.0" else fmpy.fmi2.FMU2Slave
    slave = kind(guid=description.guid if version == "2.0" else description.instantiationToken, unzipDirectory=folder,
                 modelIdentifier=description.coSimulation.modelIdentifier)
    slave.instantiate()
    if version == "2.0":
        slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    return slave, {variable.name: variable.valueReference for variable in description.modelVariables}, folder


def numbers(slave, references, version):
    return np.array(slave.getFloat64(references) if version == "3.0" else slave.getReal(references))


@VERSIONS
def test_states_are_saved_restored_and_serialized(paths, version):
    slave, names, folder = opened(paths[version], version)
    state = [names[name] for name in ("q.upper", "q.fore", "p.upper", "p.fore")]
    slave.doStep(0.0, 0.1)
    kept = slave.getFMUState() if version == "3.0" else slave.getFMUstate()
    packed = slave.serializeFMUState(kept) if version == "3.0" else slave.serializeFMUstate(kept)
    slave.doStep(0.1, 0.1)
    expected = numbers(slave, state, version)
    for _ in range(2):
        back = slave.deserializeFMUState(packed) if version == "3.0" else slave.deSerializeFMUstate(packed)
        (slave.setFMUState if version == "3.0" else slave.setFMUstate)(back)
        slave.doStep(0.1, 0.1)
        assert np.array_equal(numbers(slave, state, version), expected)
    slave.terminate()
    slave.freeInstance()
    shutil.rmtree(folder)


@VERSIONS
def test_directional_derivatives(paths, system, version):
    slave, names, folder = opened(paths[version], version)
    states = [names[name] for name in ("q.upper", "q.fore", "p.upper", "p.fore")]
    rates = [names[f"der({name})"] for name in ("q.upper", "q.fore", "p.upper", "p.fore")]
    A = system.jacobian_rhs(*START).matrix
    for k in range(4):
        column = slave.getDirectionalDerivative(rates, [states[k]], [1.0])
        assert np.allclose(column, A[:, k], rtol=1e-12, atol=1e-12)
    assert np.allclose(slave.getDirectionalDerivative(rates, [names["tau.fore"]], [2.0]), [0, 0, 0, 2.0], atol=1e-14)
    slope = slave.getDirectionalDerivative([names["energy.hamiltonian"]], states, [1.0, 0.0, 0.0, 0.5])[0]
    qdot, pdot = system.rhs(*START)
    # dH/dq is -pdot without the damper, dH/dp the speed; central differences are good to 1e-9
    assert slope == pytest.approx(-(pdot[0] + 0.1 * qdot[0]) + 0.5 * qdot[1], rel=1e-7)
    slave.terminate()
    slave.freeInstance()
    shutil.rmtree(folder)


# ---- other importers -------------------------------------------------------------------------------------------------

STATE = ("q.upper", "q.fore", "p.upper", "p.fore")


def test_libcosim(paths, system):
    """FMI 2.0, Co-Simulation in the steps of its master."""
    pytest.importorskip("libcosimpy")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    names = {variable.name: variable.valueReference
             for variable in fmpy.read_model_description(str(paths["2.0"])).modelVariables}
    execution, observer = CosimExecution.from_step_size(10_000_000), CosimObserver.create_last_value()  # ns
    slave = execution.add_local_slave(CosimLocalSlave(str(paths["2.0"]), "arm"))
    assert execution.add_observer(observer)
    assert execution.real_initial_value(slave, names["fore.mass"], 2.0)
    assert execution.simulate_until(1_000_000_000)
    got = np.array(observer.last_real_values(slave, [names[name] for name in STATE]))
    model = system.model.vary(body="fore", mass=[2.0]).model_of(0)
    expected = mb.System(model).simulate(*START, (0.0, 1.0), rtol=1e-11, atol=1e-12)
    assert np.abs(got - np.r_[expected.q[-1], expected.p[-1]]).max() < 1e-6  # its steps begin anew a hundred times


@VERSIONS
def test_ecos(paths, system, version):
    """FMI 2.0 and 3.0, Co-Simulation."""
    try:
        from ecospy import EcosSimulation, EcosSimulationStructure
    except (ImportError, OSError) as error:
        pytest.skip(f"ecospy is not there, or lacks a library: {error}")
    with EcosSimulationStructure() as structure:
        structure.add_model("arm", str(paths[version]))
        with EcosSimulation(structure=structure, step_size=0.01) as simulation:
            simulation.init()
            simulation.step_until(1.0)
            got = np.array([simulation.get_real(f"arm::{name}") for name in STATE])
            end = simulation.get_time()
            simulation.terminate()
    expected = system.simulate(*START, (0.0, end), rtol=1e-11, atol=1e-12)
    assert 0.98 < end < 1.02 and np.abs(got - np.r_[expected.q[-1], expected.p[-1]]).max() < 1e-6


def test_quaternions(tmp_path):
    """A free body: nq is not nv; no directional derivatives, but all else."""
    from fmpy.validation import validate_fmu

    b = mb.ModelBuilder(name="bird")
    b.add_body("body", joint=mb.free(), mass=2.0, inertia=(0.1, 0.2, 0.25))
    system = mb.System(b.build(), "emh-ldl")
    q, p = system.model.neutral(), np.array([1.0, 0, 2.0, 0.1, 0.3, 0.2])
    path = mb.export.fmu(system, tmp_path / "bird.fmu", start=(q, p), inputs=())
    assert validate_fmu(str(path)) == []
    outputs = [f"q.{name}" for name in system.model.coordinate_names]
    expected = system.simulate(q, p, (0.0, 1.0), rtol=1e-11, atol=1e-12)
    for kind in ("CoSimulation", "ModelExchange"):
        table = fmpy.simulate_fmu(str(path), fmi_type=kind, stop_time=1.0, output=outputs, relative_tolerance=1e-9)
        got = np.array([table[name][-1] for name in outputs])
        assert np.abs(got - expected.q[-1]).max() < 1e-6  # the importer's tolerance, added up over the run


@pytest.mark.parametrize("arguments, words", [
    (dict(version="1.0"), "version: expected one of 2.0, 3.0"),
    (dict(inputs=("torque",)), "inputs: expected some of"),
    (dict(outputs=("pose.foot",)), "outputs: .* got 'pose.foot'; the nearest is 'pose.fore'"),
    (dict(start=1.0), "start: expected"),
])
def test_bad_arguments(system, tmp_path, arguments, words):
    with pytest.raises(mb.errors.ExportError, match=words):
        mb.export.fmu(system, tmp_path / "arm.fmu", **arguments)


def test_events_that_cannot_leave_python_are_named(system, tmp_path):
    @numba.njit
    def allocates(t, q, p):
        return np.sort(q)[0]

    with pytest.raises(mb.errors.ExportError, match=r"event allocates: its code calls .*NRT"):
        mb.export.fmu(system, tmp_path / "arm.fmu", events=mb.event(allocates, terminal=True))


def test_states_with_speeds_are_refused(tmp_path):
    with pytest.raises(mb.errors.ExportError, match=r"is \(q, u\)"):
        mb.export.fmu(mb.System(arm(), "newton-euler-ldl"), tmp_path / "arm.fmu")


def test_file_names_and_compilers(system, tmp_path, monkeypatch):
    with pytest.raises(mb.errors.ExportError, match=r"ends in \.fmu"):
        mb.export.fmu(system, tmp_path / "arm.zip")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(mb.errors.ExportError, match="no C compiler") as caught:
        mb.export.fmu(system, tmp_path / "arm.fmu")
    monkeypatch.delenv("CC")
    command, _, packing = str(caught.value).partition("this makes it: ")[2].rpartition(" && ")
    assert packing == "zip -r ../arm.fmu modelDescription.xml binaries"
    subprocess.run(command, shell=True, check=True, capture_output=True, timeout=300)  # the words of the message
    shutil.make_archive(str(tmp_path / "arm"), "zip", tmp_path / "arm")
    (tmp_path / "arm.zip").rename(tmp_path / "arm.fmu")
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(tmp_path / "arm.fmu")) == []
    assert fmpy.simulate_fmu(str(tmp_path / "arm.fmu"), stop_time=0.1)["time"][-1] == pytest.approx(0.1)


def test_command_line(tmp_path, capsys):
    assert main(["export", "chain:2", "--out", str(tmp_path / "arm.fmu"), "--version", "2.0"]) == 0
    assert "arm.fmu" in capsys.readouterr().out
    assert fmpy.read_model_description(str(tmp_path / "arm.fmu")).fmiVersion == "2.0"
