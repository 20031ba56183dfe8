// Shows suite statistics, diffs, and invariances with the kernels' promises.
import type { Diff, Invariance, Report } from "./data.ts";
import { data_table, type TableColumn } from "./data_table.ts";
import { empty, h, short, type Child } from "./dom.ts";
import { duration, mark, none, number, percent, share } from "./format.ts";
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
    return section("Invariances", empty("The run tested no invariances (the same rows, computed " +
      "by another call). This command does:",
      "plumbline run cases/invariances.toml --invariances"));
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
      { name: "promise", title: "promised" },
      { name: "agreement", title: "found", show: ({ agreement }) => agreement || "nothing compared" },
      { name: "case_id", title: "case", show: (row) => linked(page, row.case_id) },
      { name: "text", title: "what was found", most: 240 },
      "suite",
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
      { name: "case_a", title: "A", show: (row) => linked(page, row.case_a) },
      { name: "case_b", title: "B", show: (row) => linked(page, row.case_b) },
      { name: "max_abs", title: "largest |A \u2212 B|", format: number },
      { name: "mean_abs", title: "mean |A \u2212 B|", format: number },
      { name: "max_rel", title: "largest relative", format: number },
      { name: "max_sigma", title: "largest (sigma)", format: number },
      { name: "percent_of_limit", title: "% of limit", format: percent },
      { name: "bit_equal_share", title: "equal bits", format: (equal) =>
          equal === null ? none : share(equal) },
      { name: "rms_a", title: "rms A (sigma)", format: number },
      { name: "rms_b", title: "rms B (sigma)", format: number },
      { name: "time_ns_a", title: "time A", format: duration },
      { name: "time_ns_b", title: "time B", format: duration },
      { name: "text", title: "why", most: 240 },
    ],
  });
}

type Score = Report["scores"][number];
const columns_of_scores: readonly (string | TableColumn<Score>)[] = ["statistic", "suite", "kernel",
  "dtype", { name: "value", format: number }, { name: "limit", format: number },
  { name: "cases", numeric: true }];

function scores(rows: readonly Score[]): HTMLElement {
  if (rows.length === 0)
    return section("Suite statistics", empty("No suite has enough cases of one kernel and dtype " +
      "for these statistics. This one has:", "plumbline run cases/nightly.toml"));
  const outlook = (status: string) =>
    /fail/.test(status) ? "failure" : /pass|ok|fine/.test(status) ? "fine" : "unmeasured";
  return section("Suite statistics", data_table<Score>({
    label: "Suite statistics",
    noun: "statistic",
    rows,
    columns: [{ name: "status", show: ({ status }) => mark(outlook(status), status) },
      ...columns_of_scores],
  }));
}

export function failed_scores({ scores }: Report): HTMLElement | null {
  const failed = scores.filter(({ status }) => /fail/.test(status));
  if (failed.length === 0) return null;
  const label = "Suite statistics that fail";
  return section(label, data_table<Score>({ label, noun: "statistic", rows: failed,
                                            columns: columns_of_scores }));
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
