"""Finds sources that use a name whose header neither they nor their own headers include.

With unity builds (presets ci, tsan) or precompiled headers, a source compiles although it lacks an
include. The table has the names that differ most between sources. The complete check is a build
with neither (`ci/weekly.sh --only asan`).
"""
import functools
import re

INCLUDE = re.compile(r'^#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
HIDDEN = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')  # comments, strings and included names
NAME = re.compile(r"\b(?:std::\w+(?:::\w+)?\(?|fmt::\w+\(|nlohmann::json(?:::\w+| \w+[ ;={])|"
                  r"NLOHMANN_DEFINE)")
# The headers that declare a name; a source should include the first.
HEADERS = {
    ("algorithm",): r"std::ranges::(sort|find|find_if|any_of|all_of|none_of|max_element|"
                    r"min_element|transform|copy|count_if|fill|equal|reverse)\b",
    ("array",): r"std::(array|to_array)\b",
    ("atomic",): r"std::atomic\b",
    ("bit",): r"std::(bit_cast|popcount|countl_zero|countr_zero|bit_width)\b",
    ("chrono",): r"std::chrono\b",
    ("cmath",): r"std::(sqrt|isnan|isfinite|isinf|log|exp|pow|floor|ceil|ldexp|frexp|nextafter|"
                r"log2|exp2|hypot)\b",
    ("csignal",): r"std::(signal|raise)\(",
    ("cstdlib",): r"std::(getenv|exit|abort|strtod|strtoll)\b",
    ("cstring",): r"std::(memcpy|memcmp|memset|strlen|strerror)\b",
    ("ctime",): r"std::(time|gmtime)\(",
    ("deque",): r"std::deque\b",
    ("filesystem",): r"std::filesystem\b",
    ("fmt/format.h", "fmt/core.h", "fmt/ranges.h", "fmt/chrono.h"): r"fmt::(format|print)\(",
    ("fmt/ranges.h",): r"fmt::join\(",
    ("fstream",): r"std::[io]?fstream\b",
    ("functional",): r"std::function\b",
    ("iostream",): r"std::(cout|cerr|cin)\b",
    ("limits",): r"std::numeric_limits\b",
    ("map",): r"std::(multi)?map\b",
    ("memory",): r"std::(unique_ptr|shared_ptr|make_unique|make_shared)\b",
    ("mutex",): r"std::(mutex|lock_guard|unique_lock|scoped_lock)\b",
    ("nlohmann/json.hpp",): r"NLOHMANN_DEFINE|nlohmann::json(::exception|::parse_error| \w+[ ;={])",
    ("numbers",): r"std::numbers\b",
    ("numeric",): r"std::(accumulate|iota|reduce|gcd)\(",
    ("optional",): r"std::(optional|nullopt)\b",
    ("random",): r"std::(mt19937|random_device)\b",
    ("regex",): r"std::(regex|smatch)\b",
    ("set",): r"std::(multi)?set\b",
    ("span",): r"std::span\b",
    ("sstream",): r"std::[io]?stringstream\b",
    ("string",): r"std::(string|to_string)\b",
    ("thread",): r"std::(thread|jthread|this_thread)\b",
    ("tuple",): r"std::(tuple|tie)\b",
    ("unordered_map",): r"std::unordered_map\b",
    ("unordered_set",): r"std::unordered_set\b",
    ("variant",): r"std::(variant|visit|get_if)\b",
    ("vector",): r"std::vector\b",
}
HEADERS = {headers: re.compile(rf"\b{names}") for headers, names in HEADERS.items()}


def missing_headers(root, paths):
    """Yields (path, line, message) for each name that a file of `paths`, relative to `root`, uses
    without its header."""
    ours = {str(path) for path in paths}

    @functools.lru_cache(maxsize=None)
    def text_of(name):
        return (root / name).read_text(encoding="utf-8", errors="replace")

    def included(name):
        seen, waiting, system = set(), [name], set()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for header in INCLUDE.findall(text_of(one)):
                (waiting.append if header in ours else system.add)(header)
        return system

    for path in paths:
        if path.suffix not in {".cc", ".h"}:
            continue
        text = HIDDEN.sub("", text_of(str(path)))
        used = "\n".join(sorted(set(NAME.findall(text))))
        headers = included(str(path)) if used else set()
        for wanted, names in HEADERS.items():
            if not headers.isdisjoint(wanted):
                continue
            match = names.search(used)
            if match:
                line = text.count("\n", 0, text.index(match[0])) + 1
                yield path, line, f"{match[0].rstrip('( ={;')} needs #include <{wanted[0]}>"
