"""Runs jobs as GitHub and GitLab do: reads their YAML and executes its commands in order, with only
the variables that the service sets. Caches are kept in a folder. The API of comments is served from
127.0.0.1."""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "a-token"
OWNER, STRANGER = 7, 8  # the user of the token, and another one


class Comments(http.server.BaseHTTPRequestHandler):
    """The part of both APIs that lists, writes and replaces comments, and returns their authors.
    `server.comments` has them as [id, body, author], `server.asked` the requests."""

    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        address = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, address.path))
        if TOKEN not in (self.headers.get("PRIVATE-TOKEN"),
                         (self.headers.get("Authorization") or "").removeprefix("Bearer ")):
            self.answer(403, {"message": "Resource not accessible by integration"})
        elif address.path in self.server.lists and self.command == "GET":
            query = urllib.parse.parse_qs(address.query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            chosen = self.server.comments[size * (page - 1):size * page]
            self.answer(200, [{"id": number, "body": body, "node_id": f"node {number}",
                               "author": {"id": author}} for number, body, author in chosen])
        elif address.path == "/graphql" and self.command == "POST":
            authors = {f"node {number}": author for number, _, author in self.server.comments}
            self.answer(200, {"data": {"nodes": [
                {"id": node, "viewerDidAuthor": authors[node] == OWNER}
                for node in data["variables"]["ids"]]}})
        elif address.path == "/user" and self.command == "GET":
            self.answer(200, {"id": OWNER})
        elif address.path in self.server.lists and self.command == "POST":
            self.server.comments.append([len(self.server.comments) + 1, data["body"], OWNER])
            self.answer(201, {"id": len(self.server.comments)})
        elif self.command == self.server.change and (
                number := re.fullmatch(self.server.one + r"/(\d+)", address.path)):
            self.server.comments[int(number.group(1)) - 1][1] = data["body"]
            self.answer(200, {})
        else:
            self.answer(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = do_PUT = handle_any

    def log_message(self, *_):
        pass


class Service:
    def __init__(self, lists, one, change):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Comments)
        self.server.lists, self.server.one, self.server.change = [lists], one, change
        self.server.asked = []
        # Other users have filled the first page, so plumbline's own comment is on the second one.
        self.server.comments = [[n + 1, f"comment {n}", STRANGER]
                                for n in range(100)]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def ours(self):
        return [body for _, body, author in self.server.comments
                if body.startswith("<!-- plumbline -->") and author == OWNER]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# Enters a root where these folders have the same paths as outside.
ENTER = """root=$1 where=$2; shift 2
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
while [[ $1 != -- ]]; do mkdir -p "$root$1" && mount --bind "$1" "$root$1"; shift; done
shift
exec /usr/sbin/chroot "$root" /usr/bin/env -C "$where" "$@\""""


class Job:
    """A user's repository with its caches. With `root`, its commands run in that root, which
    contains the checkout, the job's folder and the folders `seen`."""

    def __init__(self, folder, program_folder, root=None, seen=()):
        self.root, self.seen = root, [SOURCE, folder, *seen]
        self.work, self.caches = folder / "repository", folder / "caches"
        self.temporary, self.home = folder / "temp", folder / "home"
        for made in (self.work, self.caches, self.temporary, self.home):
            made.mkdir()
        self.path = f"{program_folder}:/usr/local/bin:/usr/bin:/bin" if program_folder else (
            "/usr/local/bin:/usr/bin:/bin")
        self.said, self.variables = "", {}

    def execute(self, command, where, environment):
        """Runs a command with GitHub's command line for a step with shell: bash; returns its exit
        code."""
        script = self.temporary / "step.sh"
        script.write_text(command, encoding="utf-8")
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
        if self.root is not None:
            shell = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", ENTER,
                     "enter", self.root, where, *self.seen, "--", *shell]
        done = subprocess.run(
            shell, cwd=where,
            env={"PATH": self.path, "HOME": str(self.home), "OMP_NUM_THREADS": "1", "CI": "true",
                 "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
                 **self.variables, **environment},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            check=False)
        self.said += done.stdout
        return done.returncode


def github(job, event, inputs, service, request=7):
    """Runs action.yml; returns (exit code, outputs, step summary)."""
    action = yaml.safe_load((SOURCE / "action.yml").read_text(encoding="utf-8"))
    values = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}
    assert set(inputs) <= set(values), "action.yml lacks an input"
    values.update(inputs)
    contexts = {**{f"inputs.{name}": value for name, value in values.items()},
                "github.event_name": event, "github.run_id": "1", "github.run_attempt": "1",
                "github.job": "test"}

    def filled(text):
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda name: contexts[name.group(1)], text)

    def applies(step, has_failed):
        """Evaluates the conditions that action.yml uses, and no others."""
        condition = re.sub(r"^\$\{\{ | \}\}$", "", step.get("if", ""))
        terms = condition.split(" && ") if condition else []
        if has_failed and "always()" not in terms:
            return False
        known = {"always()": True, "inputs.history != ''": values["history"] != "",
                 "inputs.token != ''": values["token"] != "",
                 "startsWith(github.event_name, 'pull_request')": event.startswith("pull_request"),
                 "!startsWith(github.event_name, 'pull_request')":
                     not event.startswith("pull_request")}
        return all(known[term] for term in terms)

    files = {name: job.temporary / name for name in ("path", "output", "summary", "event")}
    for file in files.values():
        file.write_text("", encoding="utf-8")
    files["event"].write_text(json.dumps({"pull_request": {"number": request}}), encoding="utf-8")
    environment = {
        "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(SOURCE), "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(files["event"]), "GITHUB_WORKSPACE": str(job.work),
        "GITHUB_REPOSITORY": "someone/kernels", "GITHUB_API_URL": service.url,
        "GITHUB_GRAPHQL_URL": f"{service.url}/graphql",
        "GITHUB_SHA": "0" * 40, "RUNNER_TEMP": str(job.temporary),
        "GITHUB_PATH": str(files["path"]), "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_STEP_SUMMARY": str(files["summary"])}
    code = 0
    for step in action["runs"]["steps"]:
        if not applies(step, code != 0):
            continue
        if "run" in step:
            assert step["shell"] == "bash"
            given = {name: filled(value) for name, value in step.get("env", {}).items()}
            where = job.work / filled(step.get("working-directory", "."))
            done = job.execute(filled(step["run"]), where, {**environment, **given})
            code = code or done
            added = files["path"].read_text(encoding="utf-8").splitlines()
            job.path = ":".join([*added, job.path])
            files["path"].write_text("", encoding="utf-8")
        else:
            use(job, step["uses"], {name: filled(v) for name, v in step["with"].items()})
    outputs = dict(line.split("=", 1) for line in
                   files["output"].read_text(encoding="utf-8").splitlines())
    return code, outputs, files["summary"].read_text(encoding="utf-8")


def use(job, action, given):
    """Does the file operations of the GitHub actions that action.yml uses."""
    action = action.partition("@")[0]
    if action == "actions/upload-artifact":
        job.artifact = sorted(p.name for p in (job.work / given["path"]).glob("*"))
        return
    file = os.path.normpath(job.work / given["path"])
    cached = job.caches / os.path.basename(file)
    if action == "actions/cache/restore":
        assert given["key"].startswith(given["restore-keys"])
        if cached.exists():
            shutil.copy(cached, file)
    else:
        assert action == "actions/cache/save", f"nobody knows what {action} does"
        if os.path.exists(file):
            shutil.copy(file, cached)


def gitlab(job, source, variables, service):
    """Runs a job that extends .plumbline of ci/gitlab.yml; returns its exit code."""
    template = yaml.safe_load((SOURCE / "ci" / "gitlab.yml").read_text(encoding="utf-8"))
    job.template = template[".plumbline"]
    (job.work / "plumbline").unlink(missing_ok=True)
    (job.work / "plumbline").symlink_to(source)
    is_request = variables["CI_PIPELINE_SOURCE"] == "merge_request_event"
    policy = job.template["rules"][0 if is_request else 1]["variables"]["PLUMBLINE_CACHE_POLICY"]
    environment = {**job.template["variables"], "GITLAB_CI": "true", "CI_API_V4_URL": service.url,
                   "CI_PROJECT_ID": "12", "CI_COMMIT_SHA": "1" * 40, "TMPDIR": str(job.temporary),
                   **variables}
    cached = [(job.work / path, job.caches / path) for path in job.template["cache"]["paths"]]
    for file, cache in cached:
        if cache.exists():
            shutil.copy(cache, file)
    code = job.execute("\n".join(job.template["script"]), job.work, environment)
    for file, cache in cached:
        if file.exists() and policy == "pull-push":
            shutil.copy(file, cache)
    return code
