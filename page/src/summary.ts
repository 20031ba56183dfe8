// Summarises cases: how many are fine, and how near the worst comes to its limit.
import { in_order, type CaseTable } from "./case_table.ts";
import type { Outlook } from "./data.ts";
import { count, plural } from "./format.ts";

export interface Summary {
  cases: number;
  fine: number;
  failures: number;
  slower: number; // failures whose error is within its limits but whose time is not
  open: number;
  unmeasured: number;
  worst: number | null; // largest percent of a limit among measured cases
  worst_row: number; // the most important case; -1: none
}

export function no_cases(): Summary {
  return { cases: 0, fine: 0, failures: 0, slower: 0, open: 0, unmeasured: 0, worst: null, worst_row: -1 };
}

function rank(outlook: string): number {
  return outlook === "failure" ? 3 : outlook === "open" ? 2 : outlook === "fine" ? 1 : 0;
}

function is_slower(table: CaseTable, row: number): boolean {
  return (table.number("percent_of_limit", row) ?? Infinity) <= 100 &&
    table.text("verdict", row) === "regressed" && (table.number("gate_change", row) ?? 0) > 0;
}

function add(summary: Summary, table: CaseTable, row: number): void {
  const outlook = table.outlook(row);
  ++summary.cases;
  if (outlook === "fine") ++summary.fine;
  else if (outlook === "failure") ++summary.failures;
  else if (outlook === "open") ++summary.open;
  else ++summary.unmeasured;
  if (outlook === "failure" && is_slower(table, row)) ++summary.slower;
  const percent = outlook === "unmeasured" ? null : table.number("percent_of_limit", row);
  if (percent !== null) summary.worst = Math.max(summary.worst ?? 0, percent);
  if (summary.worst_row < 0 || before(table, row, summary.worst_row)) summary.worst_row = row;
}

export function summed(table: CaseTable, rows: Iterable<number>): Summary {
  const summary = no_cases();
  for (const row of rows) add(summary, table, row);
  return summary;
}

export function outlook_of(summary: Pick<Summary, "failures" | "open" | "fine">): Outlook {
  if (summary.failures > 0) return "failure";
  if (summary.open > 0) return "open";
  return summary.fine > 0 ? "fine" : "unmeasured";
}

// Returns true if case `a` is more important than `b`: failures first, then open, then fine ones,
// each by percent of the limit.
export function before(table: CaseTable, a: number, b: number): boolean {
  return compare_importance(table, a, b) < 0;
}

export function compare_importance(table: CaseTable, a: number, b: number): number {
  const ranks = rank(table.outlook(b)) - rank(table.outlook(a));
  if (ranks !== 0) return ranks;
  const [x, y] = [table.number("percent_of_limit", a), table.number("percent_of_limit", b)];
  return (y ?? -1) - (x ?? -1) || a - b;
}

// Returns, for example, "40 cases: 1 failing, 37 fine, 2 not measured".
export function in_words(summary: Summary): string {
  const parts = ([[summary.failures, "failing"], [summary.open, "open"], [summary.fine, "fine"],
    [summary.unmeasured, "not measured"]] as const)
    .filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return `${plural(summary.cases, "case")}: ${parts.join(", ") || "none"}`;
}

export interface Crossed {
  down: string; // column names
  across: string;
  downs: string[]; // their values
  acrosses: string[];
  at(down: string, across: string): Summary | undefined;
  total(down: string): Summary;
}

// Crosses two dimensions. Values of `down` are sorted worst first unless they are numbers; values
// of `across` are sorted by in_order().
export function crossed(table: CaseTable, rows: readonly number[], down: string,
                        across: string): Crossed {
  const cells = new Map<string, Map<string, Summary>>();
  const totals = new Map<string, Summary>();
  const acrosses = new Set<string>();
  for (const row of rows) {
    const [y, x] = [table.text(down, row), table.text(across, row)];
    acrosses.add(x);
    if (!cells.has(y)) {
      cells.set(y, new Map());
      totals.set(y, no_cases());
    }
    const line = cells.get(y)!;
    if (!line.has(x)) line.set(x, no_cases());
    add(line.get(x)!, table, row);
    add(totals.get(y)!, table, row);
  }
  const downs = in_order(down, cells.keys());
  if (!table.is_numeric(down)) {
    const worst = (value: string) => totals.get(value)!.worst_row;
    downs.sort((a, b) => compare_importance(table, worst(a), worst(b)));
  }
  return {
    down,
    across,
    downs,
    acrosses: in_order(across, acrosses),
    at: (y, x) => cells.get(y)?.get(x),
    total: (y) => totals.get(y) ?? no_cases(),
  };
}
