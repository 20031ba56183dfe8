"""Tests the files of ci/fleet for Kubernetes and for CTest's resource groups."""
import os
import re
import shutil
import subprocess
import unittest

from fleet import NIGHT_SH, PLUMBLINE, ROOT, WORSE, FleetTest, verdicts

FLEET = ROOT / "ci" / "fleet"


class CTestResources(FleetTest):
    """A night on a host with two simulated GPUs, run by CTest."""

    def test_a_night_on_two_slots(self):
        self.write_history()
        shutil.copy(self.directory / "history.db", self.directory / "whole.db")
        self.measure("night", "whole.db", planted=WORSE, code=1)
        self.command("cmake", "-S", FLEET / "ctest", "-B", "night", "-DGPUS=2", "-DSHARDS=4",
                     f"-DHISTORY={self.directory / 'history.db'}", f"-DSUITES={self.suite}",
                     f"-DPLUMBLINE={PLUMBLINE}",
                     "-DRUN_OPTIONS=" + ";".join(str(word) for word in self.run_options()), code=0)
        done = self.command("ctest", "--test-dir", "night", "--resource-spec-file",
                            self.directory / "night" / "resources.json", "--parallel", 2,
                            "--verbose", planted=WORSE, code=8)
        gpus = re.findall(r"on GPU (\d+)", done.stdout)
        self.assertEqual(len(gpus), 5, "four shards and the confirmation")
        self.assertEqual(set(gpus), {"0", "1"}, "each slot was handed out")
        failed = re.findall(r"^\s*\d+ - (\S+) \(Failed\)", done.stdout, re.MULTILINE)
        self.assertEqual(failed, ["settle"], "a confirmed regression")
        self.assert_same_night("whole.db", "history.db", "night")

    def test_without_a_gpu_it_says_so(self):
        done = self.command(FLEET / "ctest" / "on_gpu.sh", "true", code=3)
        self.assertIn("--resource-spec-file", done.stdout)


class Kubernetes(FleetTest):
    def setUp(self):
        super().setUp()
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no PyYAML to read ci/fleet/kubernetes.yaml with")
        text = (FLEET / "kubernetes.yaml").read_text(encoding="utf-8")
        documents = list(yaml.safe_load_all(text))
        self.jobs = {d["metadata"]["name"]: d for d in documents if d["kind"] == "Job"}
        self.claims = [d for d in documents if d["kind"] == "PersistentVolumeClaim"]

    def container(self, name):
        return self.jobs["plumbline-" + name]["spec"]["template"]["spec"]["containers"][0]

    def test_fields(self):
        self.assertEqual(list(self.jobs), ["plumbline-shards", "plumbline-merge",
                                           "plumbline-confirm", "plumbline-settle"])
        claim = self.claims[0]
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteMany"])
        for name, job in self.jobs.items():
            spec = job["spec"]
            self.assertEqual(job["apiVersion"], "batch/v1")
            self.assertEqual(spec.get("suspend", False), name != "plumbline-shards", name)
            pod = spec["template"]["spec"]
            self.assertEqual(pod["restartPolicy"], "Never")
            for volume in pod["volumes"]:
                self.assertEqual(volume["persistentVolumeClaim"]["claimName"],
                                 claim["metadata"]["name"])
            mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
            self.assertEqual(mounted, {volume["name"] for volume in pod["volumes"]})
        shards = self.jobs["plumbline-shards"]["spec"]
        self.assertEqual(shards["completionMode"], "Indexed")
        self.assertIn(f" {shards['completions']} ", self.container("shards")["args"][0])
        on_gpu = {name for name in self.jobs if "resources" in self.container(name[10:])}
        self.assertEqual(on_gpu, {"plumbline-shards", "plumbline-confirm"})
        selectors = [self.jobs[name]["spec"]["template"]["spec"]["nodeSelector"]
                     for name in sorted(on_gpu)]
        self.assertEqual(selectors[0], selectors[1], "asked again on machines of the same class")

    def run_container(self, name, planted, index=0, code=0):
        """Runs the container's command, with the volume, the suite and the options of this test."""
        words = self.container(name)["command"] + self.container(name)["args"]
        words[-1] = words[-1].replace("cases/nightly.toml cases/timed_gpu.toml",
                                      f"{self.suite} -- {' '.join(map(str, self.run_options()))}")
        words[-1] = words[-1].replace(" 20 ", " 4 ").replace(
            "--history", f"--plumbline {PLUMBLINE} --history")
        environment = self.environment(planted) | {
            "NIGHTS": str(self.directory), "NIGHT": "tonight", "JOB_COMPLETION_INDEX": str(index)}
        done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, code, done.stdout[-3000:])

    def test_its_containers_make_a_night(self):
        self.write_history()
        for index in range(4):
            self.run_container("shards", WORSE, index)
        self.run_container("merge", WORSE)
        self.run_container("confirm", WORSE)
        self.run_container("settle", WORSE, code=1)
        self.assertIn(("regressed", "confirmed"),
                      verdicts(self.directory / "history.db", "tonight"))

    def test_the_script_starts_one_job_after_the_other(self):
        """Uses a fake kubectl that logs its arguments and reports success."""
        fake = self.directory / "bin"
        fake.mkdir()
        calls = self.directory / "calls"
        (fake / "kubectl").write_text(
            f'#!/bin/sh\necho "$*" >>{calls}\ncase "$*" in\n'
            '*terminated*) printf 5 ;; *conditions*) printf Complete ;; esac\n'
            '[ -t 0 ] || cat >/dev/null\n', encoding="utf-8")
        (fake / "kubectl").chmod(0o755)
        path = f"{fake}:{os.environ['PATH']}"
        done = subprocess.run([FLEET / "kubernetes.sh", "2027-01-31", "--", "--namespace", "n"],
                              env=os.environ | {"PATH": path}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        patched = re.findall(r"patch job (\S+)", calls.read_text())
        self.assertEqual(patched, ["plumbline-merge", "plumbline-confirm", "plumbline-settle"])
        self.assertTrue(all("--namespace n" in line for line in calls.read_text().splitlines()))


class Steps(FleetTest):
    def step(self, *words, code):
        return self.command(NIGHT_SH, "--plumbline", PLUMBLINE, *words, code=code)

    def test_bad_calls_are_refused(self):
        self.assertIn("--help", self.step("--directory", "d", code=2).stdout)
        lost = self.step("--directory", "d", "--history", "gone.db", "merge", code=3)
        self.assertIn("--first-night", lost.stdout)
        self.step("--directory", "d", "--history", "h.db", "--first-night", "sleep", code=2)
        self.step("--directory", "d", "--history", "h.db", "--first-night", "shard", 1, 2,
                  "none.toml", code=2)
        failed = self.step("--directory", "d", "--history", "h.db", "--first-night", "wait", 1,
                           code=3)
        self.assertIn("shard 1 of 1 has failed", failed.stdout)


if __name__ == "__main__":
    unittest.main()
