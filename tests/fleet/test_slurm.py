"""A night on a real Slurm of one node at 127.0.0.1 is the unsharded night row by row.

Needs slurmctld, slurmd, sbatch, munged (ci/setup.sh --slurm) and root; without them it prints why
and ends with 77, which CTest shows as skipped. All daemons listen only at 127.0.0.1, on free ports,
and end with the test.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from fleet import NIGHT_SH, PLUMBLINE, USUAL, WORSE, FleetTest, verdicts

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

CONFIGURATION = """
ClusterName=plumbline
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MaxArraySize=1001
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=night Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """The daemons of a cluster of one node, as children of this process."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        for name in ("state", "spool"):
            (directory / name).mkdir(parents=True)
        host = socket.gethostname().split(".")[0]
        controller, node = free_ports(2)
        self.ports = {controller, node}
        self.configuration = directory / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=host, controller=controller, node=node, directory=directory,
            cpus=os.cpu_count() or 1), encoding="utf-8")
        key = directory / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.environment = os.environ | {"SLURM_CONF": str(self.configuration), "PATH": PATH}
        self.host = host

    def start(self, *words):
        with open(self.directory / f"{words[0]}.out", "wb") as log:
            self.processes.append(subprocess.Popen(
                [str(word) for word in words], env=self.environment, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True))

    def up(self):
        self.start("munged", "--foreground", "--force", f"--key-file={self.directory}/munge.key",
                   f"--socket={self.directory}/munge.socket",
                   f"--pid-file={self.directory}/munged.pid",
                   f"--log-file={self.directory}/munged.log",
                   f"--seed-file={self.directory}/munge.seed")
        self.wait_for(lambda: (self.directory / "munge.socket").exists(), "munged")
        self.start("slurmctld", "-D", "-f", self.configuration)
        self.start("slurmd", "-D", "-f", self.configuration, "-N", self.host)
        self.wait_for(self.is_idle, "the node of Slurm")

    def is_idle(self):
        done = subprocess.run(["sinfo", "--noheader", "--format", "%t"], env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip() == "idle"

    def wait_for(self, ready, what):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if ready():
                return
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.2)
        logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
                         for path in self.directory.glob("*.[lo][ou][gt]"))
        raise RuntimeError(f"{what} does not come up:\n{logs}")

    def down(self):
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            except ProcessLookupError:
                process.wait()


def listening_elsewhere(ports):
    """Returns addresses other than 127.0.0.1 at which a process listens on one of the ports."""
    found = []
    for family in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = pathlib.Path(family).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            local, state = line.split()[1], line.split()[3]
            address, port = local.split(":")
            if state == "0A" and int(port, 16) in ports and address != "0100007F":
                found.append(local)
    return found


class SlurmNight(FleetTest):
    def setUp(self):
        super().setUp()
        self.slurm = Slurm(self.directory / "slurm")
        self.addCleanup(self.slurm.down)
        self.slurm.up()

    def environment(self, planted=USUAL):
        return self.slurm.environment | super().environment(planted) | {
            "SLURM_CONF": str(self.slurm.configuration), "PLUMBLINE_FLEET_POLL": "1"}

    def night(self, name, planted, code):
        self.command(NIGHT_SH.parent / "slurm.sh", "--shards", 4, "--directory", name, "--history",
                     "history.db", "--night", "tonight", "--plumbline", PLUMBLINE, "--wait",
                     self.suite, "--", *self.run_options(), planted=planted, code=code)

    def test_equals_the_unsharded_night(self):
        self.assertEqual(listening_elsewhere(self.slurm.ports), [])
        self.write_history()
        history = self.directory / "history.db"
        kept = self.directory / "kept.db"
        shutil.copy(history, kept)
        for planted, code in ((USUAL, 0), (WORSE, 1)):
            shutil.copy(kept, self.directory / "whole.db")
            shutil.copy(kept, history)
            self.measure("tonight", "whole.db", planted=planted, code=code)
            self.night(f"night-{code}", planted, code)
            self.assert_same_night("whole.db", "history.db", "tonight")
        self.assertIn(("regressed", "confirmed"), verdicts(history, "tonight"))


if __name__ == "__main__":
    absent = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if absent:
        print(f"skipped: there is no {', '.join(absent)} (ci/setup.sh --slurm)")
        sys.exit(77)
    if os.geteuid() != 0:
        print("skipped: slurmd and slurmctld are started as root here")
        sys.exit(77)
    os.environ["PATH"] = PATH
    unittest.main()
