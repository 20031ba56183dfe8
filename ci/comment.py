#!/usr/bin/env python3
"""Writes a Markdown summary as the one comment of plumbline on a pull or merge request.

    ci/comment.py SUMMARY.md

Replaces an earlier run's comment, which a hidden line of HTML marks. Any user can write that line,
so the script checks with the service that this token wrote the comment. Reads variables of GitHub
and GitLab (GITHUB_API_URL, GITHUB_GRAPHQL_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH; CI_API_V4_URL,
CI_PROJECT_ID, CI_MERGE_REQUEST_IID) and PLUMBLINE_TOKEN, which needs the permission pull-requests:
write (GitHub) or the scope api (GitLab). Exit code 1 with the reason if the service refuses or
cannot be reached."""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

MARK = "<!-- plumbline -->"
LONGEST = 65000  # characters; GitHub accepts 65,536
SECONDS = 30
PAGE = 100  # comments per response


class Service:
    """The comments of a pull or merge request. `comments` is the address to list and add them,
    `one` the address of a single comment without its number, `change` the method that replaces it.
    `own(service, comments)` returns the comments that the token's owner wrote."""

    def __init__(self, comments, one, change, header, own):
        self.comments, self.one, self.change, self.header = comments, one, change, header
        self.own = own

    def ask(self, method, address, data=None):
        request = urllib.request.Request(
            address, method=method, data=None if data is None else json.dumps(data).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "plumbline", **self.header})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)

    def earlier(self):
        """Returns the number of the comment that an earlier run left, or None."""
        page, marked = 1, []
        while True:
            found = self.ask("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            marked += [comment for comment in found
                       if (comment.get("body") or "").startswith(MARK)]
            if len(found) < PAGE:
                break
            page += 1
        own = self.own(self, marked) if marked else []
        return own[0]["id"] if own else None

    def write(self, body):
        number = self.earlier()
        if number is None:
            self.ask("POST", self.comments, {"body": body})
            return "wrote the comment"
        self.ask(self.change, f"{self.one}/{number}", {"body": body})
        return "replaced the comment of an earlier run"


def own_on_github(service, comments):
    """Returns the comments that this token wrote. A job's token has no user, so GitHub's field
    viewerDidAuthor decides."""
    own = set()
    for first in range(0, len(comments), PAGE):
        answer = service.ask("POST", os.environ["GITHUB_GRAPHQL_URL"], {
            "query": "query($ids: [ID!]!) {nodes(ids: $ids) "
                     "{... on IssueComment {id viewerDidAuthor}}}",
            "variables": {"ids": [one["node_id"] for one in comments[first:first + PAGE]]}})
        nodes = (answer.get("data") or {}).get("nodes")
        if nodes is None:
            raise ValueError(f"GitHub does not say who wrote the comments: {answer.get('errors')}")
        own |= {node["id"] for node in nodes if node and node.get("viewerDidAuthor")}
    return [comment for comment in comments if comment["node_id"] in own]


def own_on_gitlab(service, comments):
    user = service.ask("GET", f"{os.environ['CI_API_V4_URL']}/user")["id"]
    return [comment for comment in comments if comment["author"]["id"] == user]


def github():
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    issues = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    return Service(f"{issues}/{event['pull_request']['number']}/comments", f"{issues}/comments",
                   "PATCH", {"Authorization": f"Bearer {os.environ['PLUMBLINE_TOKEN']}"},
                   own_on_github)


def gitlab():
    project = urllib.parse.quote(os.environ["CI_PROJECT_ID"], safe="")
    notes = (f"{os.environ['CI_API_V4_URL']}/projects/{project}/merge_requests/"
             f"{os.environ['CI_MERGE_REQUEST_IID']}/notes")
    return Service(notes, notes, "PUT", {"PRIVATE-TOKEN": os.environ["PLUMBLINE_TOKEN"]},
                   own_on_gitlab)


def shortened(summary):
    """Returns the summary cut to LONGEST, with every open block closed."""
    if len(summary) <= LONGEST:
        return summary
    kept = summary[:LONGEST].rsplit("\n", 1)[0]
    if sum(line.startswith("```") for line in kept.splitlines()) % 2:
        kept += "\n```"
    kept += "\n</details>" * (kept.count("<details>") - kept.count("</details>"))
    return kept + "\n\nThe rest is in the summary of the job.\n"


def main():
    if len(sys.argv) != 2:
        sys.exit("ci/comment.py: name one file, the summary: ci/comment.py SUMMARY.md")
    summary = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    try:
        service = gitlab() if os.environ.get("CI_MERGE_REQUEST_IID") else github()
        print(service.write(f"{MARK}\n{shortened(summary)}"))
    except KeyError as missing:
        sys.exit(f"ci/comment.py: {missing} is missing; remedy: set it, or run "
                 "this in a job of a pull or merge request")
    except (urllib.error.URLError, OSError, ValueError) as error:
        sys.exit(f"ci/comment.py: {error}; remedy: set PLUMBLINE_TOKEN to a token that may "
                 "write comments (permission pull-requests: write; on GitLab the scope api)")


if __name__ == "__main__":
    main()
