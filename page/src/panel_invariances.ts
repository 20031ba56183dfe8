// What a kernel promises to keep bit for bit, pairs of outputs, and sums over suites.
import type { Diff, Invariance, Report } from "./data.ts";
import { data_table } from "./data_table.ts";
import { clipped, empty, h, short, type Child } from "./dom.ts";
import { duration, mark, number, percent, share } from "./format.ts";
import type { Page } from "./page.ts";
import { case_link, section } from "./parts.ts";

const ranks: Record<string, number> = { failure: 0, open: 1, unmeasured: 2, fine: 3 };
function worst_first<T extends { outlook: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => (ranks[a.outlook] ?? 2) - (ranks[b.outlook] ?? 2));
}

function linked(page: Page, case_id: string): Child {
  const row = page.model.rows_of(case_id)[0];
  return row === undefined ? h("code", null, short(case_id, 140)) : case_link(page, row);
}

function invariances(page: Page, rows: readonly Invariance[]): HTMLElement {
  if (rows.length === 0)
    return section("Invariances", empty("The run asked for no invariances: the same rows, asked " +
      "for in another way. This does:", "plumbline run cases/invariances.toml --invariances"));
  return section("Invariances", data_table<Invariance>({
    label: "Invariances",
    noun: "invariance",
    rows: worst_first(rows),
    class_of: ({ outlook }) => `row-${outlook}`,
    columns: [
      { name: "verdict", title: "verdict", key: ({ outlook }) => ranks[outlook] ?? 2,
        show: ({ outlook, verdict }) => mark(outlook, verdict) },
      { name: "invariance", title: "invariance",
        key: ({ invariance }) => invariance.replaceAll("_", " ") },
      { name: "promise", title: "promised", key: ({ promise }) => promise },
      { name: "agreement", title: "found", key: ({ agreement }) => agreement,
        show: ({ agreement }) => agreement || "nothing compared" },
      { name: "case", title: "case", key: (row) => row.case_id,
        show: (row) => linked(page, row.case_id) },
      { name: "text", title: "what was found", key: ({ text }) => short(text, 100),
        show: ({ text }) => clipped(text, 240) },
      { name: "suite", title: "suite", key: ({ suite }) => suite },
    ],
  }));
}

export function diffs_table(page: Page, rows: readonly Diff[], label: string): HTMLElement {
  return data_table<Diff>({
    label,
    noun: "diff",
    rows: worst_first(rows),
    class_of: ({ outlook }) => `row-${outlook}`,
    columns: [
      { name: "verdict", title: "verdict", key: ({ outlook }) => ranks[outlook] ?? 2,
        show: ({ outlook, verdict }) => mark(outlook, verdict) },
      { name: "name", title: "diff", key: ({ suite, name }) => `${suite}/${name}`,
        show: ({ suite, name }) => short(`${suite}/${name}`, 100) },
      { name: "a", title: "A", key: (row) => row.case_a, show: (row) => linked(page, row.case_a) },
      { name: "b", title: "B", key: (row) => row.case_b, show: (row) => linked(page, row.case_b) },
      { name: "max_abs", title: "largest |A \u2212 B|", numeric: true, key: (row) => row.max_abs,
        show: (row) => number(row.max_abs) },
      { name: "mean_abs", title: "mean |A \u2212 B|", numeric: true, key: (row) => row.mean_abs,
        show: (row) => number(row.mean_abs) },
      { name: "max_rel", title: "largest relative", numeric: true, key: (row) => row.max_rel,
        show: (row) => number(row.max_rel) },
      { name: "max_sigma", title: "largest (sigma)", numeric: true, key: (row) => row.max_sigma,
        show: (row) => number(row.max_sigma) },
      { name: "percent", title: "% of limit", numeric: true, key: (row) => row.percent_of_limit,
        show: (row) => percent(row.percent_of_limit) },
      { name: "equal", title: "equal bits", numeric: true, key: (row) => row.bit_equal_share,
        show: (row) => (row.bit_equal_share === null ? "\u2013" : share(row.bit_equal_share)) },
      { name: "rms_a", title: "rms A (sigma)", numeric: true, key: (row) => row.rms_a,
        show: (row) => number(row.rms_a) },
      { name: "rms_b", title: "rms B (sigma)", numeric: true, key: (row) => row.rms_b,
        show: (row) => number(row.rms_b) },
      { name: "time_a", title: "time A", numeric: true, key: (row) => row.time_ns_a,
        show: (row) => duration(row.time_ns_a) },
      { name: "time_b", title: "time B", numeric: true, key: (row) => row.time_ns_b,
        show: (row) => duration(row.time_ns_b) },
      { name: "text", title: "why", key: ({ text }) => short(text, 100),
        show: ({ text }) => clipped(text, 240) },
    ],
  });
}

function scores(rows: Report["scores"]): HTMLElement {
  if (rows.length === 0)
    return section("Suite statistics", empty("No suite has enough cases of one kernel and dtype " +
      "for sums over a suite. This one has:", "plumbline run cases/nightly.toml"));
  const outlook = (status: string) =>
    /fail/.test(status) ? "failure" : /pass|ok|fine/.test(status) ? "fine" : "unmeasured";
  return section("Suite statistics", data_table({
    label: "Suite statistics",
    noun: "statistic",
    rows,
    columns: [
      { name: "status", title: "status", key: ({ status }) => status,
        show: ({ status }) => mark(outlook(status), status) },
      { name: "statistic", title: "statistic", key: ({ statistic }) => statistic },
      { name: "suite", title: "suite", key: ({ suite }) => suite },
      { name: "kernel", title: "kernel", key: ({ kernel }) => kernel },
      { name: "dtype", title: "dtype", key: ({ dtype }) => dtype },
      { name: "value", title: "value", numeric: true, key: ({ value }) => value,
        show: ({ value }) => number(value) },
      { name: "limit", title: "limit", numeric: true, key: ({ limit }) => limit,
        show: ({ limit }) => number(limit) },
      { name: "cases", title: "cases", numeric: true, key: ({ cases }) => cases },
    ],
  }));
}

export function invariances_panel(page: Page): Child {
  const { report } = page.model;
  return [
    h("h1", { tabindex: -1 }, "Invariances and diffs"),
    invariances(page, report.invariances),
    report.diffs.length === 0
      ? section("Diffs", empty("The run compared no two outputs with each other. The stories do:",
          "plumbline run cases/stories/s1_prefill_vs_decode.toml"))
      : section("Diffs", diffs_table(page, report.diffs, "Diffs")),
    scores(report.scores),
  ];
}
