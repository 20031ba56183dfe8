#!/usr/bin/env python3
"""Compares the time gate with Apache Otava on the same simulated series.

  evidence/gate_beside_otava.py [--simulation PROGRAM] [--series 50] [--otava FOLDER]
                                [--keep CSV_FOLDER]

Otava is installed from PyPI into an environment of its own: a temporary one, or FOLDER, which is
made if it does not exist and otherwise reused. PROGRAM is plumbline_gate_simulation of a build with
tests; it writes series of white noise, 54 nights each, without a step and with steps of 2, 3, 5 and
10 standard deviations from night 41 on.

Otava analyses each series as a nightly job would: after night 1, 3, 7 and 14 of the step, with all
nights so far. A step counts as found if Otava names a change point within 3 nights of the true one.
In a series without a step, each change point that it names after the last night is a false alert.
Otava cannot measure again in fresh processes; the gate's columns come from the same program, with
fresh processes. The exit code does not depend on the result.
"""
import argparse
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = (0, 2, 3, 5, 10)
SHOWN = (1, 3, 7, 14)
BEFORE = 40  # nights before the step, as in tests/timing/simulation.cc
NEAR = 3


def detector():
    """Returns a function that gives the indices of Otava's change points in a list of values. Runs
    in Otava's environment."""
    from otava.series import AnalysisOptions, Metric, Series

    options = AnalysisOptions()

    def changes(values):
        series = Series("series", None, list(range(len(values))), {"time": Metric(1, 1.0)},
                        {"time": list(values)}, {})
        found = series.analyze(options).change_points["time"]
        return [point.index for point in found]

    return changes


def count(folder):
    """Runs in Otava's environment. Prints step, shares found by night 1, 3, 7, 14, and alerts per
    night."""
    changes = detector()
    print("otava", importlib.metadata.version("apache-otava"))
    for step in STEPS:
        lines = (folder / f"step_{step}.csv").read_text(encoding="utf-8").splitlines()[1:]
        all_series = [[float(value) for value in line.split(",")] for line in lines]
        found = dict.fromkeys(SHOWN, 0)
        first_alerts = 0
        for values in all_series:
            seen = False
            for night in SHOWN:
                named = changes(values[:BEFORE + night])
                if step:
                    seen = seen or any(abs(index - BEFORE) <= NEAR for index in named)
                    found[night] += seen
                else:
                    first_alerts += night == SHOWN[-1] and len(named)
        shares = " ".join(f"{found[night] / len(all_series):.4f}" for night in SHOWN)
        print(step, shares, f"{first_alerts / len(all_series) / (BEFORE + SHOWN[-1]):.6f}",
              flush=True)


def environment(folder):
    """Returns the Python of an environment with Otava, which is made if it does not exist."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", "apache-otava"])
        if done.returncode != 0:
            sys.exit("apache-otava cannot be installed: is PyPI in reach? --otava FOLDER names an "
                     "environment that has it")
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulation", type=pathlib.Path,
                        default=ROOT / "build/host/tests/timing/plumbline_gate_simulation")
    parser.add_argument("--series", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--otava", type=pathlib.Path,
                        help="folder of the environment with Otava, made if missing")
    parser.add_argument("--keep", type=pathlib.Path, help="where the series are kept")
    parser.add_argument("--count", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.count:
        return count(arguments.count)
    if not arguments.simulation.is_file():
        parser.error(f"{arguments.simulation} is missing: build the target "
                     "plumbline_gate_simulation, or name it with --simulation")
    if arguments.series < 5:
        parser.error("--series: at least 5")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = arguments.keep or scratch
        folder.mkdir(parents=True, exist_ok=True)
        command = [arguments.simulation, "--series", str(arguments.series), "--seed",
                   str(arguments.seed)]
        subprocess.run([*command, "--write", folder], check=True)
        python = environment(arguments.otava or scratch / "otava")
        answer = subprocess.run([python, __file__, "--count", folder], capture_output=True,
                                text=True)
        if answer.returncode != 0:
            sys.exit(f"Otava failed:\n{answer.stderr}")
        name, *rows = answer.stdout.splitlines()
        gate = subprocess.run([*command, "--noise", "white", "--nights", "54", "--fresh", "3",
                               "--power", str(arguments.series)], capture_output=True, text=True)
    print(f"{arguments.series} series of white noise, 54 nights, a step after night 40")
    print(f"{name}: share of steps found by night 1, 3, 7, 14; false alerts without a step")
    for row in rows:
        step, *shares, alerts = row.split()
        if step == "0":
            print(f"  {'none':>5}  {float(alerts):.4f} change points a series and night")
        else:
            print(f"  {step:>5}" + "".join(f"{100 * float(share):>8.1f} %" for share in shares))
    print("plumbline's gate:")
    print(gate.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
