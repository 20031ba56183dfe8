#!/usr/bin/env python3
"""Makes the night that tests/page looks at: real runs, into a folder.

  make_night.py PLUMBLINE LIBRARIES PLANTED_PROVIDER FOLDER

Four nights without a plant, then two in which two of six timed cases are twenty times slower and
one kernel loses a key; in the last of them twenty kernels with a known bug run, too
(tests/report_reading). Leaves night.html, first.html (of the night before), refused.html (a run of
refused cases alone), hostile.html (the night again, with texts that would be HTML, and a reason of
1 MB) and expected.json.
"""
import base64
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tomllib

CAUSES = pathlib.Path(__file__).parents[1] / "report_reading" / "causes_of_mutants.toml"

TIMED = """
schema = 1
name = "timed"
[[group]]
name = "g"
reason = "short"
kernels = ["cpu/flash"]
timed = true
set = { heads_q = 2, heads_kv = 1, dtype = "bf16" }
product = { seq = [64, 72, 80, 88, 96, 104] }
"""
RIGHT = """
schema = 1
name = "right"
[[group]]
name = "g"
reason = "one of these breaks"
kernels = ["cpu/split_kv", "cpu/flash"]
set = { heads_q = 4, heads_kv = 2, seq_q = 3, head_dim = 64, layout = "paged_nhd" }
product = { dtype = ["bf16", "fp16"], seq_kv = [40, 70] }
[[group]]
name = "refused"
reason = "no 16-bit kernel takes it"
kernels = ["cpu/flash"]
set = { heads_q = 4, dtype = "fp32", seq = 16, head_dim = 64 }
"""
REFUSED = RIGHT[:RIGHT.index("[[group]]")] + RIGHT[RIGHT.rindex("[[group]]"):]


HOSTILE = "<script>document.title='run'</script><img src=x onerror=alert(1)> \"'`&lt;|"


def make_hostile(folder, template):
    """plumbline refuses hostile names, so this writes hostile texts into the page's data."""
    night = json.loads((folder / "night.json").read_text())
    night["sentence"] = HOSTILE + night["sentence"]
    night["subject"]["label"] = HOSTILE
    for column in night["cases"]:
        if column["name"] in ("case_id", "kernel", "cause", "machine", "suite"):
            column["words"] = [HOSTILE + word for word in column["words"]]
    for group in night["groups"]:
        group.update(title=HOSTILE, kernel=HOSTILE, text=HOSTILE)
    for detail in night["details"]:
        detail.update(reason=HOSTILE + "x" * 1_000_000, reproduce=HOSTILE, saved_to=HOSTILE,
                      location=HOSTILE)
        for finding in detail["findings"]:
            finding["text"] = HOSTILE
    for story in night["stories"]:
        story.update(title=HOSTILE, source=HOSTILE)
    data = base64.b64encode(gzip.compress(json.dumps(night).encode())).decode()
    (folder / "hostile.html").write_text(template.read_text().replace("@PLUMBLINE_DATA@", data))


def main():
    program, libraries, provider, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    for name, text in (("timed.toml", TIMED), ("right.toml", RIGHT), ("refused.toml", REFUSED)):
        (folder / name).write_text(text)

    def plumbline(*arguments, codes=(0,), options=""):
        # without the commit that CI sets, because the tests expect the page to name dates
        environment = {name: text for name, text in os.environ.items()
                       if name not in ("PLUMBLINE_COMMIT", "GITHUB_SHA")}
        environment["PLANTED_OPTIONS"] = options
        done = subprocess.run([program, *map(str, arguments)], cwd=folder, env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            sys.exit(f"plumbline {' '.join(map(str, arguments))} exits with {done.returncode}:\n"
                     f"{done.stdout}{done.stderr}")
        return done.stdout

    def run(night, *arguments, codes=(0,), options=""):
        plumbline("run", *arguments, "-q", "--night", night, "--db", "h.db", codes=codes,
                  options=options)

    planted = ("--repetitions", 3, "--no-default-provider", "--provider", provider)
    night_codes = (0, 1, 5)  # other work on this machine may look like a regression
    for number in range(1, 7):
        night = f"2027-01-{number:02}"
        is_planted = number >= 5
        plumbline("night", "open", "--id", night, "--who", "test", "--db", "h.db")
        run(night, "timed.toml", *planted, codes=(1,) if is_planted else night_codes,
            options="slow=20,part=2/3" if is_planted else "")
        run(night, "right.toml", *planted, codes=(1,) if is_planted else (0,),
            options="drop_last_key=1,only=cpu/split_kv" if is_planted else "")
        if number == 6:
            causes = tomllib.loads(CAUSES.read_text())["cause"]
            cases = [f"--case=mutants/{cause['mutant']}/{problem}"
                     for cause in causes for problem in cause["problem"]]
            run(night, "--no-default-provider", "-j", 1, "--provider",
                pathlib.Path(libraries) / "plumbline_mutants.so", *cases, codes=(1,))
        plumbline("night", "close", night, "--who", "test", "--db", "h.db", codes=night_codes)

    plumbline("report", "--db", "h.db", "-o", "night.html")
    plumbline("report", "night:2027-01-05", "--db", "h.db", "-o", "first.html")
    plumbline("report", "--db", "h.db", "--data", "-o", "night.json")
    build = pathlib.Path(libraries).parent.parent
    make_hostile(folder, build / "share" / "plumbline" / "page.html")
    plumbline("run", "refused.toml", "-q", "--db", "refused.db", codes=(4,))
    plumbline("report", "--db", "refused.db", "-o", "refused.html")
    slower = plumbline("query", "SELECT case_id FROM v_latest WHERE gate_finding = 'slower'",
                       "--db", "h.db", "--format", "json")
    (folder / "expected.json").write_text(json.dumps({
        "causes": [{"case": f"mutants/{cause['mutant']}/{cause['problem'][-1]}",
                    "expected": cause["expected"]} for cause in causes],
        "slower": [row["case_id"] for row in json.loads(slower)["data"]["rows"]],
        "broken": "cpu/split_kv/",
    }))


if __name__ == "__main__":
    main()
