#!/usr/bin/env python3
"""Compares the results in two databases, which a refactoring must not change.

  ci/same_results.py before.db after.db
  ci/same_results.py before.db after.db --ignore-texts   # of a change that rewords messages

Compares the newest run of each database: cases with their verdicts, errors, specs, and digests of
inputs and outputs; diffs, invariances and suite statistics with their verdicts and values. Times
are left out; so are texts (causes, findings, notes) with --ignore-texts. Prints counts and the
first differences; exits with 1 if there are any, otherwise 0. Kernels that keep state, such as
mutants/stale_*, depend on the order of calls: measure them with `plumbline run -j1`.
"""
import argparse
import pathlib
import sqlite3
import sys

NEWEST = "(SELECT run_id FROM run ORDER BY run_order DESC LIMIT 1)"
TEXTS = ", o.cause, iif(o.timed, '', o.findings), iif(o.timed, '', o.notes)"
QUERIES = {
    "cases": f"""
      SELECT o.suite, c.case_id, o.status, o.verdict, o.problem_digest, o.output_digest,
             o.peak, o.beyond_output, o.rms, o.lse_z, o.max_ulp, o.worst_sigma, s.spec,
             o.nearest_statistic{TEXTS}
      FROM outcome AS o JOIN attention_case AS c USING (case_key)
      LEFT JOIN rounding_spec AS s ON s.spec_key = o.judged_spec_key
      WHERE o.run_id = {NEWEST}""",
    "diffs": f"""
      SELECT suite, name, case_a, case_b, status, verdict, max_abs, max_sigma FROM diff
      WHERE run_id = {NEWEST}""",
    "invariances": f"""
      SELECT c.case_id, i.suite, i.invariance, i.verdict, i.calls, i.elements, i.other_bits,
             i.sigmas
      FROM invariance AS i JOIN attention_case AS c USING (case_key)
      WHERE run_id = {NEWEST}""",
    "suite statistics": f"""
      SELECT suite, kernel, dtype, statistic, cases, value, limit_value, status FROM suite_score
      WHERE run_id = {NEWEST}""",
}


def rows(path, query):
    """Returns the rows of a query as sorted text; opens the database read-only."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return sorted(map(repr, connection.execute(query)))
    finally:
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--ignore-texts", action="store_true")
    arguments = parser.parse_args()
    for path in (arguments.before, arguments.after):
        if not path.is_file():
            parser.error(f"{path} is no file")
    differences = 0
    for what, query in QUERIES.items():
        if arguments.ignore_texts:
            query = query.replace(TEXTS, "")
        before, after = rows(arguments.before, query), rows(arguments.after, query)
        only = [("before", row) for row in sorted(set(before) - set(after))]
        only += [("after", row) for row in sorted(set(after) - set(before))]
        print(f"{what}: {len(before)} before, {len(after)} after, {len(only)} rows differ")
        for side, row in sorted(only, key=lambda entry: entry[1])[:10]:
            print(f"  {side:6} {row}")
        differences += len(only) + abs(len(before) - len(after))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
