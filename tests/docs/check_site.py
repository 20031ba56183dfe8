#!/usr/bin/env python3
"""Builds the site of ci/docs.sh and follows every link of it.

    check_site.py [--site DIRECTORY]     an already built one

Each link to a page, a file or an anchor must have a target, each page must be reachable from the
first one, and nothing may be loaded from the network: no script, font, style or picture. Addresses
of other sites are checked for their form but not fetched. Exit code 77: .venv-docs is missing."""
import argparse
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Element and attribute that a browser loads by itself; for <link>, unless rel is in ONLY_NAMED.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src",
          "audio": "src", "embed": "src", "object": "data", "use": "href", "link": "href"}
ONLY_NAMED = {"next", "prev", "canonical", "license", "author"}
LOADED_BY_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
FIRST = "index.html"
# The page that a server shows for missing addresses. No other page links to it.
ALONE = {"404.html"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.in_style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("name"):
            self.ids.add(given["name"])
        if tag in ("a", "area") and given.get("href") is not None:
            self.links.append(given["href"])
        address = given.get(LOADED.get(tag, ""))
        if address and not (tag == "link" and given.get("rel") in ONLY_NAMED):
            self.loads.append(address)
        self.loads += styled(given.get("style") or "")
        self.in_style = tag == "style"

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.loads += styled(data)


def styled(text):
    return [a or b for a, b in LOADED_BY_STYLE.findall(text)]


def is_external(address):
    return bool(re.match(r"([a-z][a-z0-9+.-]*:|//)", address, re.IGNORECASE))


def breaches_of_address(address):
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "mailto":
        return
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:\[\]-]+", parts.netloc):
        yield f"{address} is no address"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumbline-site.") as scratch:
        site = options.site
        if site is None:
            site = pathlib.Path(scratch) / "site"
            lacking = subprocess.run([SOURCE / "ci" / "docs.sh", "--check"], text=True,
                                     stdout=subprocess.PIPE, check=False)
            if lacking.returncode != 0:
                print(f"skipped: {lacking.stdout}")
                return 77
            if subprocess.run([SOURCE / "ci" / "docs.sh", "--out", site], check=False).returncode:
                return 1
        return check(site)


def check(site):
    pages = {str(p.relative_to(site)): Page(p.read_text(encoding="utf-8"))
             for p in site.rglob("*.html")}
    breaches, reached, open_pages, followed = [], {FIRST}, [FIRST], 0

    def target(page, address):
        """Returns (file of the site, anchor in it)."""
        path, _, place = address.partition("#")
        path = urllib.parse.unquote(path.partition("?")[0])
        file = (site / page).parent / path if path else site / page
        if file.is_dir():
            file = file / FIRST
        return file.resolve(), urllib.parse.unquote(place)

    names = {(site / name).resolve(): name for name in pages}
    # Visits the pages in the order in which links reach them.
    def look(name):
        nonlocal followed
        for address in pages[name].loads:
            if address.startswith("data:"):
                continue
            if is_external(address):
                breaches.append(f"{name}: loads {address} from the network")
            elif not target(name, address)[0].is_file():
                breaches.append(f"{name}: {address} is not there")
        for address in pages[name].links:
            followed += 1
            if is_external(address):
                breaches.extend(f"{name}: {text}" for text in breaches_of_address(address))
                continue
            file, place = target(name, address)
            if not file.is_file():
                breaches.append(f"{name}: {address} is not there")
            elif file in names:
                if place and place not in pages[names[file]].ids and place != "__top":
                    breaches.append(f"{name}: {address}: that page has no place {place}")
                if names[file] not in reached:
                    reached.add(names[file])
                    open_pages.append(names[file])

    while open_pages:
        look(open_pages.pop())
    for name in sorted(set(pages) - reached - ALONE):
        breaches.append(f"{name} is linked from nowhere")
    for style in site.rglob("*.css"):
        for address in styled(style.read_text(encoding="utf-8")):
            if is_external(address) and not address.startswith("data:"):
                breaches.append(f"{style.relative_to(site)}: loads {address} from the network")
    for breach in breaches:
        print(breach)
    print(f"{len(reached)} pages, {followed} links followed, {len(breaches)} lead nowhere")
    return 1 if breaches or followed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
