#!/usr/bin/env python3
"""Checks a JUnit report against what CI systems accept.

    junit_rules.py REPORT.xml

Elements, their order and attributes must follow Jenkins' schema junit-10.xsd
(https://github.com/jenkinsci/xunit-plugin); validating plugins refuse other reports. Class name and
name must be unique together, because Jenkins and GitLab identify tests by both. Counts must be
right. The text of a failed or skipped test must begin with its message, because GitLab shows only
the text and others only the message. Prints each breach; exit code 1 if there is one."""
import re
import sys
import xml.etree.ElementTree

# element: its attributes, those that are required, its children
RULES = {
    "testsuites": ("name time tests failures errors", "name tests", "testsuite"),
    "testsuite": ("name tests failures errors group time skipped timestamp hostname id package "
                  "file log url", "name tests failures errors skipped time", "testcase"),
    "testcase": ("name time classname group", "name classname time", "skipped error failure"),
    "skipped": ("type message", "message", ""),
    "error": ("type message", "type message", ""),
    "failure": ("type message", "type message", ""),
}
SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
LONGEST_MESSAGE = 400  # characters: four lines of a list


def breaches_of(element):
    """Yields the breaches in an element and its descendants."""
    if element.tag not in RULES:
        yield f"there is no element {element.tag}"
        return
    allowed, needed, children = (words.split() for words in RULES[element.tag])
    what = f"{element.tag} {element.get('name', '')}"
    for name, value in element.attrib.items():
        if name not in allowed:
            yield f"{what}: there is no attribute {name}"
        if name == "time" and not SECONDS.fullmatch(value):
            yield f"{what}: time=\"{value}\" is no number of seconds"
    yield from (f"{what}: {name} is missing" for name in needed if not element.get(name))
    message = element.get("message")
    if message is not None:
        if not (element.text or "").startswith(message):
            yield f"{what}: its text does not begin with its message: {message}"
        if element.tag != "skipped" and len(message) > LONGEST_MESSAGE:
            yield f"{what}: a message of {len(message)} characters"
    if len(element) > 1 and element.tag == "testcase":
        yield f"{what}: more than one result"
    for child in element:
        if child.tag not in children:
            yield f"{what}: holds {child.tag}"
        yield from breaches_of(child)


def wrong_counts(root):
    for suite in [root, *root.iter("testsuite")]:
        for attribute, path in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"),
                                ("skipped", "skipped")):
            stated, found = suite.get(attribute), sum(1 for _ in suite.iter(path))
            if stated is not None and int(stated) != found:
                yield f"{suite.tag} {suite.get('name')}: {attribute}={stated}, not {found}"


def names_used_twice(root):
    seen = set()
    for case in root.iter("testcase"):
        name = (case.get("classname"), case.get("name"))
        if name in seen:
            yield f"two tests are {' '.join(map(str, name))}"
        seen.add(name)


def main():
    root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
    breaches = [*breaches_of(root), *wrong_counts(root), *names_used_twice(root)]
    if root.tag != "testsuites":
        breaches.append(f"the root is {root.tag}, not testsuites")
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
