#!/usr/bin/env python3
"""Counts sentences that have to be read twice, by rule and folder. A count may only fall.

  ci/check_prose.py                      fails if a count exceeds ci/prose_baseline.toml
  ci/check_prose.py --update             lowers the counts of that file
  ci/check_prose.py --list harness/judge every hit under a path, with its line
  ci/check_prose.py --rules              the rules
  ci/check_prose.py --pages              words of all pages, and words per sentence of each page
  ci/check_prose.py --tree FOLDER        hits by rule in another checkout, without limits

Rules C* read comments, N1 identifiers, T1 names of tests, G1 subjects of commits after `since` in
the baseline file. Pages have limits of words and of words per sentence. `prose: ok` in a comment
exempts it; there are at most 30 such comments.
"""
import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINE = "ci/prose_baseline.toml"
MAX_EXEMPTIONS = 30
MAX_TEST_WORDS = 8
MAX_SUBJECT_COLUMNS = 72
MAX_PAGE_WORDS = 55000  # over all pages but evidence/
MAX_SENTENCE_WORDS = 30  # 90th percentile over the pages of the site

# Rule -> (what to write instead, pattern). A pattern with ^ reads the start of a comment.
COMMENT_RULES = {
    "C1": ("name the thing first", r"^Of (?!course)\w|^of (\S+ ){4,}"),
    "C2": ('"Returns true if ..."', r"^Whether "),
    "C4": ("a noun phrase or a verb", r"^(What|Who|Whose|Whom) "),
    "C5": ("the noun itself", r"^(Those|It|Its|They|Likewise|The same|That of)\b"),
    "C6": ("the actor: the kernel, the run, the user",
           r"(?i)\b(nobody|somebody|anybody|whom|whoever)\b"),
    "C7": ('"prints", "reports", "stores"',
           r"\b(is|are|was|were|be) (said|told)\b|\bsays? so\b"),
    "C8": ('"is not a ..."', r"(?<!there )(?<!There )\b(is|are|was|were) "
           r"(none\b|no (?!longer|more|less|such|need|way|error)\b)"),
    "C9": ('"after"', r"(?<!leave )(?<!lag )\bbehind\b"),
    "C10": ('"otherwise"', r"[;,] else\b|\belse (the|a|an|it|its|of)\b"),
    "C11": ("the count", r"\bso (many|much) (?!that)"),
}
# Listed but never counted, because half of the hits of C3 are about places.
WARNINGS = {"C3": ('"if" or "when"', r"^Where [^.:]{4,120},")}
NAME_RULE = ("max_, min_, a verb and a noun",
             r"\b(?!most_frequent)(?:most|least)_[a-z_]+\b|"
             r"\b[a-z][a-z_]*_(?:what|who|nobody|afresh|instead|asked)(?:_[a-z_]+)?\b")
TEST_RULE = ("Suite.ConditionResult in at most eight words",
             r"^(A|An|The|Of|What|Where|Who|With|Without|By)(?=[A-Z])")
PRONOUNS = {"It", "Its", "They", "Them", "Their", "That", "Those", "This", "These", "Nobody",
            "Somebody", "Who", "Whom", "Whose", "What"}
SUBJECT_RULE = ("scope: verb object", r"^[^:]*: (?:a|an|the|what)\b|;")
OTHER_RULES = {"N1": NAME_RULE, "T1": TEST_RULE, "G1": SUBJECT_RULE}
COMPILED = {rule: re.compile(pattern)
            for rule, (_, pattern) in {**COMMENT_RULES, **WARNINGS, **OTHER_RULES}.items()}

SLASHES = {".cc", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".c", ".cxx", ".ts"}
HASHES = {".py", ".sh", ".toml", ".cmake", ".yml"}
# A string or character literal, or a comment; the first that matches at a place wins.
PIECES = re.compile(r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'
                    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|"
                    r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)", re.DOTALL)
HASH_PIECES = re.compile(r'"""(?P<doc>.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                         r"(?:(?<=\s)|^)(?P<line>#(?!!)[^\n]*)", re.DOTALL | re.MULTILINE)
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Marks for tools and ends of scopes.
NO_PROSE = re.compile(r"(?:namespace\b.*|NOLINT.*|\W*)$", re.DOTALL)
# Not checked: files of a release, records of measurements, and inputs of tests and runs.
NOT_OURS = re.compile(r"^tests/provider/first_release/|^evidence/.*\.md$|^tests/.*\.toml$|^cases/")


def comments_of(text, suffix):
    """Yields (line, text) of each comment; consecutive comment lines are one comment."""
    pieces = PIECES if suffix in SLASHES else HASH_PIECES
    opened, last, column = None, 0, -1
    for match in pieces.finditer(text):
        group = match.lastgroup if match.lastgroup in ("line", "block", "doc") else None
        if not group:
            continue
        start = match.start(group)
        line = text.count("\n", 0, start) + 1
        begun = text.rfind("\n", 0, start) + 1
        alone = not text[begun:start].strip()
        if group == "line":
            body = match[group].lstrip("/#!<").strip()
            if opened and alone and line == last + 1 and start - begun == column:
                opened[1].append(body)
                last = line
                continue
        else:
            body = " ".join(part.strip(" *\t") for part in
                            match[group].removeprefix("/*").removesuffix("*/").splitlines())
            body = body.strip()
        if opened:
            yield opened[0], " ".join(opened[1])
        opened, last, column = (line, [body]), line, start - begun
        if group != "line":
            column = -1
    if opened:
        yield opened[0], " ".join(opened[1])


def words_of(name):
    return [word for part in name.split("_") for word in WORD.findall(part)]


def is_bad_test_name(name):
    words = words_of(name)
    return (len(words) > MAX_TEST_WORDS or COMPILED["T1"].match(name) is not None or
            not PRONOUNS.isdisjoint(words))


class Counts:
    def __init__(self):
        self.hits = []  # (rule, path, line, text)
        self.comments = 0
        self.flagged = 0
        self.tests = 0
        self.exempt = 0

    def read(self, path, text):
        for line, comment in comments_of(text, pathlib.Path(path).suffix):
            if NO_PROSE.match(comment):
                continue
            self.comments += 1
            if "prose: ok" in comment:
                self.exempt += 1
                continue
            rules = [rule for rule in COMMENT_RULES if COMPILED[rule].search(comment)]
            self.flagged += bool(rules)
            rules += [rule for rule in WARNINGS if COMPILED[rule].search(comment)]
            self.hits += [(rule, path, line, comment) for rule in rules]
        if pathlib.Path(path).suffix not in SLASHES:
            return
        code = PIECES.sub(lambda match: "\n" * match[0].count("\n"), text)
        for name in sorted({match[0] for match in COMPILED["N1"].finditer(code)}):
            line = code.count("\n", 0, re.search(rf"\b{name}\b", code).start()) + 1
            self.hits.append(("N1", path, line, name))
        for match in TEST_NAME.finditer(text):
            self.tests += 1
            if is_bad_test_name(match[2]):
                line = text.count("\n", 0, match.start()) + 1
                self.hits.append(("T1", path, line, f"{match[1]}.{match[2]}"))


def folder_of(path):
    parts = pathlib.Path(path).parts or (".",)
    return "/".join(parts[:2]) if parts[0] in ("harness", "kernels", "emulator", "tests") and \
        len(parts) > 2 else parts[0] if len(parts) > 1 else "."


def files_of(root):
    done = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, check=False,
                          capture_output=True, text=True)
    names = done.stdout.split("\0") if done.returncode == 0 else \
        [str(path.relative_to(root)) for path in root.rglob("*")]
    return sorted(name for name in names if name and (root / name).is_file())


def count(root):
    counts = Counts()
    for name in files_of(root):
        if pathlib.Path(name).suffix in SLASHES | HASHES and not NOT_OURS.search(name):
            counts.read(name, (root / name).read_text(encoding="utf-8", errors="replace"))
    for subject in filter(is_bad_subject, subjects(root, read_baseline(root)["since"])):
        counts.hits.append(("G1", ".", 1, subject))
    return counts


def subjects(root, since):
    """The subjects of the commits after `since`; none if this clone does not have it."""
    done = subprocess.run(["git", "log", "--no-merges", "--format=%s", f"{since}..HEAD"], cwd=root,
                          check=False, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def is_bad_subject(subject):
    return len(subject) > MAX_SUBJECT_COLUMNS or COMPILED["G1"].search(subject) is not None


# ---- Pages ----

def pages_of(root):
    """(every page that counts, the pages of the site among them)."""
    names = [name for name in files_of(root) if name.endswith(".md")]
    generated = [name for name in names if name == "docs/hardening.md"]
    counted = [name for name in names if not name.startswith("evidence/") and
               name not in generated]
    site = [name for name in counted if name.startswith("docs/") or "/" not in name or
            name.startswith("baselines/")]
    return counted, site


def sentences_of(text):
    """The number of words in each sentence of a page, without code, tables, headings and marks."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(\||#|    ).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lengths = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        paragraph = re.sub(r"`[^`]*`", "code", " ".join(paragraph.split()))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"(])", paragraph):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > 1:
                lengths.append(len(words))
    return lengths


def percentile_90(lengths):
    return statistics.quantiles(lengths, n=10)[8] if len(lengths) > 1 else sum(lengths)


def page_figures(root):
    """(words of all pages, 90th percentile of words per sentence over the site, rows by page)."""
    counted, site = pages_of(root)
    total, every, rows = 0, [], []
    for name in counted:
        text = (root / name).read_text(encoding="utf-8")
        lengths = sentences_of(text) if name in site else []
        total += len(text.split())
        every += lengths
        rows.append((name, len(text.split()), percentile_90(lengths) if lengths else 0))
    return total, percentile_90(every), rows


# ---- The baseline ----

def read_baseline(root):
    path = root / BASELINE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {"since": "HEAD", "counts": {}} | tomllib.loads(text)


def write_baseline(root, since, before, counts):
    lines = ["# Hits of ci/check_prose.py by rule and folder. A count may only fall:",
             "# ci/check_prose.py --update. `before` has the totals at the linter's first commit.",
             f'since = "{since}"', "", "[before]"]
    lines += [f"{rule} = {n}" for rule, n in sorted(before.items())]
    for rule in sorted({rule for rule, _ in counts}):
        lines += ["", f"[counts.{rule}]"]
        lines += [f'"{folder}" = {n}' for (each, folder), n in sorted(counts.items())
                  if each == rule]
    (root / BASELINE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def by_folder(hits):
    return collections.Counter((rule, folder_of(path)) for rule, path, _, _ in hits
                               if rule not in WARNINGS)


def errors(root=ROOT, counts=None):
    """Yields (path, line, sentence) for counts above the baseline and pages above their limits."""
    limits, counts = read_baseline(root)["counts"], counts or count(root)
    for (rule, folder), n in sorted(by_folder(counts.hits).items()):
        limit = limits.get(rule, {}).get(folder, 0)
        if n <= limit:
            continue
        instead = {**COMMENT_RULES, **OTHER_RULES}[rule][0]
        for each, path, line, text in counts.hits:
            if each == rule and folder_of(path) == folder:
                yield path, line, f"prose {rule} ({n} hits, limit {limit}): {text[:90]} ({instead})"
    if counts.exempt > MAX_EXEMPTIONS:
        yield BASELINE, 1, f"{counts.exempt} comments are exempt, more than {MAX_EXEMPTIONS}"
    total, p90, _ = page_figures(root)
    if total > MAX_PAGE_WORDS:
        yield "docs", 1, f"the pages have {total} words, more than {MAX_PAGE_WORDS}"
    if p90 >= MAX_SENTENCE_WORDS:
        yield "docs", 1, (f"a tenth of the sentences of the site has {p90:.0f} words or more "
                          f"(limit {MAX_SENTENCE_WORDS}): ci/check_prose.py --pages")


def print_pages(root):
    total, p90, rows = page_figures(root)
    for name, words, page_p90 in sorted(rows, key=lambda row: -row[1]):
        print(f"{words:6} words  {f'{page_p90:4.0f}' if page_p90 else '   -'}  {name}")
    print(f"{total} words in {len(rows)} pages; 90th percentile of words per sentence over the "
          f"site: {p90:.0f}")


def print_shares(counts):
    totals = collections.Counter(rule for rule, *_ in counts.hits)
    print(" ".join(f"{rule} {totals[rule]}" for rule in
                   [*COMMENT_RULES, *WARNINGS, "N1", "T1"]))
    share = 100 * counts.flagged / max(counts.comments, 1)
    print(f"{counts.flagged} of {counts.comments} comments flagged ({share:.2f} %); "
          f"{totals['T1']} of {counts.tests} test names; {counts.exempt} exempt")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", metavar="PATH")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--tree", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.rules:
        for rule, (instead, pattern) in sorted({**COMMENT_RULES, **WARNINGS,
                                                **OTHER_RULES}.items()):
            print(f"{rule:4} {instead}\n     {pattern}")
        return 0
    if arguments.pages:
        print_pages(ROOT)
        return 0
    if arguments.tree:
        print_shares(count(arguments.tree))
        return 0
    if arguments.list is not None:
        hits = [hit for hit in count(ROOT).hits if hit[1].startswith(arguments.list)]
        for rule, path, line, text in sorted(hits, key=lambda hit: (hit[1], hit[2])):
            print(f"{path}:{line}: {rule}: {text[:200]}")
        print(f"{len(hits)} hits")
        return 0
    baseline, counts = read_baseline(ROOT), count(ROOT)
    if arguments.update:
        now = by_folder(counts.hits)
        kept = {}
        for key, n in now.items():
            limit = baseline["counts"].get(key[0], {}).get(key[1])
            kept[key] = n if limit is None and not baseline["counts"] else min(n, limit or 0)
        before = baseline.get("before") or dict(collections.Counter(
            rule for rule, *_ in counts.hits if rule not in WARNINGS))
        since = baseline["since"]
        if since == "HEAD":
            since = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True,
                                   capture_output=True, text=True).stdout.strip()[:12]
        write_baseline(ROOT, since, before, {key: n for key, n in kept.items() if n})
    print_shares(counts)
    found = list(errors(ROOT, counts))
    for path, line, error in found:
        print(f"{path}:{line}: {error}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
