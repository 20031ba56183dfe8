"""The pytest plugin: project defaults, dumps of failures, suites as parameters.

docs/pytest.md documents it. pytest finds it by the entry point of the installed package.
"""
from __future__ import annotations

import collections
import difflib
import functools
import hashlib
import os
import pathlib
import re
import shlex
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

import pytest

import plumbline

from . import _library, _suite_cases

try:
    from plumbline_command import owners
except ImportError:  # a build tree on PYTHONPATH without it
    owners = None  # type: ignore[assignment]

_CASES_OF = "plumbline_suite"
_NOT_APPLIED = "plumbline_default_not_applied"
_NOT_JUDGED = "plumbline_rows_not_judged"
_WIDTH_UNKNOWN = 100

# The project's defaults: keys of [tool.plumbline]; pytest's own configuration prefixes them with
# "plumbline_".
_KEYS = {
    "layout": "layout of q, k, v and out if a test states none, such as padded_bhsd",
    "spec": "rounding spec of the tested kernels, such as FlashAttention-2",
    "causal": "top_left, bottom_right, true or false if a test states no causal mask",
    "lse_base": "base of the LSEs: e or 2",
    "dumps": "folder of the dumps of failures; none: no dumps",
}
# An argument of a call (left) disables these defaults (right).
_INSTEAD = {"is_causal": ("causal",), "attn_mask": ("causal",)}


class Settings:
    """The defaults of a project and their sources."""

    def __init__(self, values: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        self.values, self.sources = dict(values), dict(sources)

    def of_question(self, *keys: str) -> Dict[str, Any]:
        return {key: self.values[key] for key in keys if key in self.values}

    def __str__(self) -> str:
        stated = self.of_question("layout", "spec", "causal", "lse_base")
        if not stated:
            return "no defaults"
        words = ", ".join(f"{key}={value}" for key, value in stated.items())
        return f"{words} ({' and '.join(sorted({self.sources[key] for key in stated}))})"


def _refused(where: str, key: str, value: Any, remedy: str) -> pytest.UsageError:
    return pytest.UsageError(f"{where}: {key} = {value!r} is not known\n  remedy: {remedy}")


def _checked(where: str, key: str, value: Any) -> Any:
    """Returns the value as `plumbline.check` accepts it."""
    if key == "causal":
        words = {"true": True, "false": False, "top_left": "top_left",
                 "bottom_right": "bottom_right"}
        if str(value).lower() not in words:
            raise _refused(where, key, value, f"write one of {', '.join(words)}")
        return words[str(value).lower()]
    if key == "lse_base":
        if str(value) not in ("e", "2"):
            raise _refused(where, key, value, "write e or 2")
        return str(value)
    if key == "dumps" and value is False:
        return "none"
    if not isinstance(value, str):
        raise _refused(where, key, value, "write a text in quotes")
    if key == "layout":
        known = (*plumbline._HEADS, *plumbline._LAYOUTS)
        if value not in known:
            near = difflib.get_close_matches(value, known, 1)
            question = f"did you mean {near[0]}? " if near else ""
            raise _refused(where, key, value, f"{question}One of {', '.join(known)}")
    return value


def _table_of(path: pathlib.Path) -> Mapping[str, Any]:
    """Returns [tool.plumbline] of a pyproject.toml."""
    if not path.is_file():
        return {}
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib  # before Python 3.11
        except ImportError:
            return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("plumbline", {})
    except ValueError as error:
        raise pytest.UsageError(f"{path}: {error}") from None
    if not isinstance(table, dict):
        raise pytest.UsageError(f"{path}: tool.plumbline is not a table\n"
                                "  remedy: begin it with the line [tool.plumbline]")
    return table


def _settings(config: pytest.Config) -> Settings:
    values: Dict[str, Any] = {}
    sources: Dict[str, str] = {}
    path = config.rootpath / "pyproject.toml"
    for key, value in _table_of(path).items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1, 0.5)
            remedy = f"did you mean {near[0]}? " if near else ""
            raise pytest.UsageError(f"{path}: [tool.plumbline] has the unknown key {key!r}\n"
                                    f"  remedy: {remedy}The keys are {', '.join(_KEYS)}")
        values[key] = _checked(f"{path}: [tool.plumbline]", key, value)
        sources[key] = path.name
    for key in _KEYS:
        value = config.getini("plumbline_" + key)
        if value:
            where = config.inipath or config.rootpath
            values[key] = _checked(str(where), key, value)
            sources[key] = where.name
    return Settings(values, sources)


class _NoDump(Exception):
    """A dump could not be written; the text has the reason and the remedy."""


class Dumps:
    """The folder of a run's dumps. File names contain the test, the worker, the run and a number,
    so that they are unique and earlier runs are recognized. They also contain a hash of all this,
    by which commands name them."""

    def __init__(self, folder: pathlib.Path, config: pytest.Config) -> None:
        self.folder = folder
        self._config = config
        self._shown_from = pathlib.Path(config.invocation_params.dir)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
        self._run = f".{hashlib.sha1(run.encode()).hexdigest()[:6]}."
        self._mine = f"{self._run}{worker}."
        self._failures: Dict[str, int] = {}
        self._written: Dict[str, List[pathlib.Path]] = {}

    @staticmethod
    def _stem(nodeid: str) -> str:
        words = re.sub(r"[^A-Za-z0-9_=]+", "-", nodeid).strip("-")
        return f"{words[-120:]}-{hashlib.sha1(nodeid.encode()).hexdigest()[:8]}"

    @functools.cached_property
    def _of_earlier_runs(self) -> Dict[str, List[pathlib.Path]]:
        """Dumps by stem, which has no dot."""
        found: Dict[str, List[pathlib.Path]] = {}
        if self.folder.is_dir():
            for path in self.folder.glob("*.safetensors"):
                if self._run not in path.name:
                    found.setdefault(path.name.partition(".")[0], []).append(path)
        return found

    def forget_earlier_runs(self, nodeid: str) -> None:
        self._remove(self._of_earlier_runs.pop(self._stem(nodeid), []))

    def forget_this_run(self, nodeid: str) -> None:
        self._remove(self._written.pop(nodeid, []))

    @staticmethod
    def _remove(paths: List[pathlib.Path]) -> None:
        for path in paths:
            try:
                path.unlink()
            except OSError:  # removed by another run, or not removable
                pass

    def keep(self, nodeid: str, tensors: dict, stated: dict) -> str:
        """Writes a dump and returns the command that checks it again."""
        number = self._failures[nodeid] = self._failures.get(nodeid, 0) + 1
        name = f"{self._stem(nodeid)}{self._mine}{number}"
        # A short hash, so that the command fits next to pytest's "E".
        mark = hashlib.sha1(name.encode()).hexdigest()[:6]
        path = self.folder / f"{name}.{mark}.safetensors"
        try:
            self._make_folder()
            plumbline._write_dump(path, tensors, stated)
        except OSError as error:
            raise _NoDump(f"no dump was written: {error}\n  remedy: name another folder with "
                          "--plumbline-dumps DIR, or use --plumbline-no-dumps") from None
        self._written.setdefault(nodeid, []).append(path)
        return f"plumbline check {shlex.quote(self.shown(self.folder))}/*.{mark}.* -v"

    def _make_folder(self) -> None:
        cache = getattr(self._config, "cache", None)
        if cache is not None and self.folder == _folder_in_cache(self._config):
            cache.mkdir("plumbline")  # also writes the files that exclude the folder from Git
        self.folder.mkdir(parents=True, exist_ok=True)

    def shown(self, path: pathlib.Path) -> str:
        try:
            return str(path.relative_to(self._shown_from))
        except ValueError:
            return str(path)


def _folder_in_cache(config: pytest.Config) -> Optional[pathlib.Path]:
    if getattr(config, "cache", None) is None:  # -p no:cacheprovider
        return None
    cache = os.path.expandvars(os.path.expanduser(config.getini("cache_dir")))
    return config.rootpath / cache / "d" / "plumbline"


def _dumps(config: pytest.Config, settings: Settings) -> Tuple[Optional[Dumps], str]:
    """Returns the dumps, or None if disabled, and the text for the header."""
    if config.getoption("plumbline_no_dumps"):
        return None, "dumps of failures: none"
    typed, stated = config.getoption("plumbline_dumps"), settings.values.get("dumps")
    if typed:
        folder: Optional[pathlib.Path] = pathlib.Path(config.invocation_params.dir) / typed
    elif stated == "none":
        return None, f"dumps of failures: none ({settings.sources['dumps']})"
    else:
        folder = config.rootpath / stated if stated else _folder_in_cache(config)
    if folder is None:
        return None, "dumps of failures: none, pytest's cache is off (use --plumbline-dumps DIR)"
    dumps = Dumps(folder, config)
    return dumps, f"dumps of failures: {dumps.shown(folder)}"


class AttentionJudge:
    """plumbline's check, diff and assertions with the project's defaults, which arguments of the
    call override. Failed assertions write dumps."""

    def __init__(self, settings: Settings, dumps: Optional[Dumps], item: Any) -> None:
        self._settings, self._dumps, self._item = settings, dumps, item

    def _question(self, stated: Mapping[str, Any], *keys: str) -> Dict[str, Any]:
        """An argument of None counts as not stated, as in `check`."""
        stated = {key: value for key, value in stated.items() if value is not None}
        defaults = self._settings.of_question(*keys)
        for word, instead in _INSTEAD.items():
            if word in stated:
                defaults = {key: defaults[key] for key in defaults if key not in instead}
        return {**defaults, **stated}

    def _judged(self, judge: Callable[..., plumbline.Report], arrays: Tuple,
                asked: Dict[str, Any], question: Mapping[str, Any]) -> plumbline.Report:
        """Returns the report. If the project's default spec is not a rounding model for the dtype
        of these arrays, removes it from `asked`; the report and pytest's summary note this."""
        __tracebackhide__ = True
        defaults = [key for key in ("spec", "spec_a", "spec_b")
                    if key in asked and question.get(key) is None]
        try:
            return judge(*arrays, **asked)
        except _library.SpecOfOtherDtype as error:
            if not defaults:
                raise
            line = str(error).splitlines()[0]
            reason = line[line.find('spec "'):]  # after the name of the call
        for key in defaults:
            del asked[key]
        note = f"the default of {self._settings.sources['spec']} is not applied: {reason}"
        report = judge(*arrays, **asked)
        self._item.user_properties.append((_NOT_APPLIED, note))
        return report._with_note(note)

    def check(self, out: Any, q: Any, k: Any, v: Any, **question: Any) -> plumbline.Report:
        """Like plumbline.check. Writes no dump."""
        __tracebackhide__ = True
        asked = self._question(question, "layout", "spec", "causal", "lse_base")
        return self._judged(plumbline.check, (out, q, k, v), asked, question)

    def diff(self, a: Any, b: Any, q: Any, k: Any, v: Any, **question: Any) -> plumbline.Report:
        """Like plumbline.diff; the project's `spec` applies to both sides. Writes no dump."""
        __tracebackhide__ = True
        asked = self._question(question, "layout", "causal", "lse_base")
        if "spec" in self._settings.values:
            for side in ("spec_a", "spec_b"):
                asked.setdefault(side, self._settings.values["spec"])
        return self._judged(plumbline.diff, (a, b, q, k, v), asked, question)

    def assert_attention(self, out: Any, q: Any, k: Any, v: Any, *, msg: Any = None,
                         **question: Any) -> None:
        """Like plumbline.assert_attention."""
        __tracebackhide__ = True
        asked = self._question(question, "layout", "spec", "causal", "lse_base")
        report = self._judged(plumbline.check, (out, q, k, v), asked, question)
        self._assert(report, msg, {**asked, "out": out, "q": q, "k": k, "v": v})

    def assert_merge(self, out: Any, partial_out: Any, partial_lse: Any, *, msg: Any = None,
                     **question: Any) -> None:
        """Like plumbline.assert_merge; the only default for merges is lse_base."""
        __tracebackhide__ = True
        asked = self._question(question, "lse_base")
        self._assert(plumbline.check_merge(out, partial_out, partial_lse, **asked), msg,
                     {**asked, "out": out, "partial_out": partial_out, "partial_lse": partial_lse})

    def assert_case(self, case: "_suite_cases.Case", out: Any, *, msg: Any = None,
                    **question: Any) -> None:
        """Like assert_attention, with the arguments in `case.question`. Pass what a suite leaves to
        the kernel: lse, lse_base, spec, padded_rows. The original q, k and v are judged, even if
        the kernel changed them."""
        __tracebackhide__ = True
        q, k, v, stated = case.pristine()
        asked = {**self._question(question, "spec", "lse_base"), **stated, "name": case.id}
        for key in question.keys() & stated.keys():
            raise TypeError(f"assert_case() takes {key} from the suite ({case.id}): leave it out, "
                            "or call assert_attention")
        report = self._judged(plumbline.check, (out, q, k, v), asked, {**question, **stated})
        self._assert(report, msg, {**asked, "out": out, "q": q, "k": k, "v": v})

    def _assert(self, report: plumbline.Report, msg: Any, judged: Mapping[str, Any]) -> None:
        __tracebackhide__ = True
        if report.answer == plumbline.ROUNDING:
            return
        command, remarks = None, []
        if self._dumps is not None:
            dump = plumbline._dump(judged, {}, keep_base="partial_lse" in judged)
            try:
                command = self._dumps.keep(self._item.nodeid, *dump)
            except _NoDump as error:
                remarks.append(str(error))
        if msg is None or callable(msg):
            text = report._as_failure(command)
            text = text if msg is None else msg(text)
        else:
            text = msg
            if command is not None:
                remarks.append(f"in full: {command}")
        raise AssertionError("\n".join([str(text).rstrip("\n"), *remarks]))


class _DisabledPlugin:
    """Replaces _Plugin if `plumbline` is another project's package. Tests without our fixtures
    still run."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def pytest_report_header(self) -> str:
        return f"plumbline cannot judge: {self.reason}"


def _is_ours() -> bool:
    """Returns True if `import plumbline` imported the package of this file."""
    return hasattr(plumbline, "assert_attention") and hasattr(plumbline, "_PytestTerminal")


def _foreign_owner() -> str:
    """Returns which of our files another project's package owns, or ""."""
    said = owners.sentence() if owners is not None else ""
    if said or _is_ours():
        return said
    return (f"{getattr(plumbline, '__file__', 'plumbline')} is not from plumbline-attention\n"
            f"  remedy: install plumbline-attention again, with --force-reinstall --no-deps")


class _Plugin:
    """The state of a session: one for each process."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = _settings(config)
        self.dumps, self.dumps_words = _dumps(config, self.settings)
        self.foreign_owner = _foreign_owner()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        outcome = yield
        report = outcome.get_result()
        judged = "attention_judge" in getattr(item, "fixturenames", ())
        if self.dumps is not None and judged and report.when == "call" and report.passed:
            self.dumps.forget_this_run(item.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Records the rows that the test's reports exclude: passing reports, which name them, are
        not printed."""
        def note(report: plumbline.Report) -> None:
            item.user_properties.extend(
                (_NOT_JUDGED, f"{some['count']} of {some['of']} rows not judged: {some['why']}")
                for some in report.not_judged if some["what"] == "rows")

        plumbline._on_report = note
        yield
        plumbline._on_report = None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints each note once. Notes of xdist workers arrive as properties of tests."""
        notes = collections.Counter(
            value for reports in terminalreporter.stats.values() for report in reports
            if getattr(report, "when", "") == "call"
            for name, value in report.user_properties if name in (_NOT_APPLIED, _NOT_JUDGED))
        for note, calls in sorted(notes.items()):
            terminalreporter.write_line(f"plumbline: {note} ({calls} calls)" if calls > 1 else
                                        f"plumbline: {note}")

    def pytest_report_header(self) -> str:
        header = f"plumbline {plumbline.__version__}: {self.settings}; {self.dumps_words}"
        return f"{header}\nplumbline: {self.foreign_owner}" if self.foreign_owner else header


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("plumbline", "attention, judged by plumbline")
    group.addoption("--plumbline-dumps", metavar="DIR", default=None,
                    help="folder for the dumps of failures (default: plumbline_dumps, otherwise "
                    "d/plumbline in pytest's cache)")
    group.addoption("--plumbline-no-dumps", action="store_true", help="dump nothing")
    for key, what in _KEYS.items():
        parser.addini("plumbline_" + key, what, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_CASES_OF}(suite, kernel=None, match=None, exclude=None, tier=None): a test "
        "for each case of a suite of plumbline, with the fixture plumbline_case")
    plugin = _Plugin(config) if _is_ours() else _DisabledPlugin(_foreign_owner())
    config.pluginmanager.register(plugin, "plumbline_session")


def pytest_sessionstart(session: pytest.Session) -> None:
    if not _is_ours():
        return
    # Set here, because pytest_configure of the terminal's plugin runs after ours.
    plumbline._pytest_terminal = plumbline._PytestTerminal(
        _width(session.config), session.config.getoption("verbose") > 0)


def pytest_unconfigure() -> None:
    plumbline._pytest_terminal = None


def _width(config: pytest.Config) -> int:
    """Returns the width of the terminal that shows failures; an xdist worker gets it from its
    controller."""
    told = getattr(config, "workerinput", {}).get("plumbline_width")
    if told is not None:
        return int(told)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return config.get_terminal_writer().fullwidth if reporter else _WIDTH_UNKNOWN


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["plumbline_width"] = _width(node.config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "plumbline_case" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker(_CASES_OF)
    try:
        if marker is None:
            raise _suite_cases.Unusable(
                "the fixture plumbline_case needs a suite: mark the test with "
                f'@pytest.mark.{_CASES_OF}("mine.toml", kernel="mine/softmax")')
        asked = _suite_cases.asked(metafunc.definition.path.parent, metafunc.config.rootpath,
                                   *marker.args, **marker.kwargs)
        found = _suite_cases.listed(asked)
    except (_suite_cases.Unusable, TypeError) as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("plumbline_case", found, ids=[one.id for one in found], indirect=True)


@pytest.fixture
def attention_judge(request: pytest.FixtureRequest) -> AttentionJudge:
    """plumbline's check, diff, assert_attention, assert_merge and assert_case with the project's
    defaults."""
    plugin = request.config.pluginmanager.get_plugin("plumbline_session")
    if isinstance(plugin, _DisabledPlugin):
        pytest.fail(plugin.reason, pytrace=False)
    if plugin.dumps is not None:
        plugin.dumps.forget_earlier_runs(request.node.nodeid)
    return AttentionJudge(plugin.settings, plugin.dumps, request.node)


@pytest.fixture
def plumbline_case(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> "_suite_cases.Case":
    """A case of the suite of @pytest.mark.plumbline_suite: q, k, v and `question`."""
    if not _is_ours():
        pytest.fail(_foreign_owner(), pytrace=False)
    try:
        return _suite_cases.inputs_of(request.param, tmp_path)
    except _suite_cases.Unsupported as reason:
        pytest.skip(str(reason))
    except _suite_cases.Unusable as error:
        pytest.fail(str(error), pytrace=False)
