// The report with the lookups that panels need.
import { CaseTable } from "./case_table.ts";
import type { Decision, Detail, Group, Report } from "./data.ts";
import { shell_quoted, words } from "./format.ts";
import { load_case } from "./load.ts";
import type { State } from "./state.ts";
import { compare_importance } from "./summary.ts";

// Returns true if a shell pattern (* and ?) matches the whole text.
export function matches(glob: string, text: string): boolean {
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (from < text.length) {
    if (at < glob.length && glob[at] === "*") {
      star = at++;
      resume = from;
    } else if (at < glob.length && (glob[at] === "?" || glob[at] === text[from])) {
      ++at;
      ++from;
    } else if (star >= 0) {
      at = star + 1;
      from = ++resume;
    } else {
      return false;
    }
  }
  while (glob[at] === "*") ++at;
  return at === glob.length;
}

export class Model {
  readonly cases: CaseTable;
  readonly other: CaseTable | null;
  readonly by_importance: number[];
  // Rows that fail or are open: first the rows of issues, in the order of the issues.
  readonly bad: number[];
  private readonly details = new Map<number, Detail>();
  private readonly group_of_row = new Map<number, number>();

  constructor(readonly report: Report) {
    this.cases = new CaseTable(report.cases, report.rows);
    this.other = report.other ? new CaseTable(report.other.cases, report.other.rows) : null;
    for (const detail of report.details) this.details.set(detail.row, detail);
    report.groups.forEach((group, place) => {
      for (const row of group.cases)
        if (!this.group_of_row.has(row)) this.group_of_row.set(row, place);
    });
    this.by_importance = this.cases.all().sort((a, b) => compare_importance(this.cases, a, b));
    const bad = new Set<number>();
    for (const group of report.groups)
      for (const row of group.cases) if (this.cases.is_bad(row)) bad.add(row);
    for (const row of this.by_importance) if (this.cases.is_bad(row)) bad.add(row);
    this.bad = [...bad];
  }

  detail(row: number): Detail | undefined {
    return this.details.get(row);
  }

  async load_detail(row: number): Promise<void> {
    this.details.set(row, await load_case(row));
  }

  group(row: number): Group | undefined {
    const place = this.group_of_row.get(row);
    return place === undefined ? undefined : this.report.groups[place];
  }

  // Returns the selected case's row; -1: none, or missing in this report.
  chosen_row({ case_id, row }: State): number {
    if (case_id === "") return -1;
    if (row >= 0 && this.cases.text("case_id", row) === case_id) return row;
    return this.rows_of(case_id)[0] ?? -1;
  }

  rows_of(case_id: string): number[] {
    const column = this.cases.column("case_id");
    if (column === undefined || !("words" in column)) return [];
    const place = column.words.indexOf(case_id);
    if (place < 0) return [];
    return this.cases.all().filter((row) => column.places[row] === place);
  }

  // Returns the part of the state that selects a case.
  choice(row: number): Pick<State, "case_id" | "row"> {
    return { case_id: this.cases.text("case_id", row), row };
  }

  // Explains a case in words; never empty.
  cause(row: number): string {
    const cause = this.cases.text("cause", row);
    if (cause !== "") return cause;
    const detail = this.details.get(row);
    const finding = detail?.findings.find(({ text }) => text !== "")?.text;
    if (finding) return finding;
    if (detail?.reason) return detail.reason;
    const outlook = this.cases.outlook(row);
    if (outlook === "fine") return "Nothing to explain: the case is fine";
    if (outlook === "unmeasured") return "Not measured, and no reason was kept";
    return `${words(this.cases.text("verdict", row))}; no cause is known`;
  }

  // Returns true if all findings of the case are about time.
  is_about_time(row: number): boolean {
    const findings = this.details.get(row)?.findings ?? [];
    if (findings.length > 0) return findings.every(({ statistic }) => statistic.startsWith("time"));
    return this.group(row)?.kind === "slower";
  }

  decisions(case_id: string): Decision[] {
    return this.report.decisions.filter(({ glob }) => glob === "" || matches(glob, case_id));
  }

  // Returns this run, night or commit as the command accepts it: "night:2027-01-30" for "night
  // 2027-01-30".
  name(): string {
    const { label, run_ids } = this.report.subject;
    const [kind, name] = label.split(" ", 2);
    if (name === undefined) return label;
    return kind === "run" ? (run_ids[0] ?? name).slice(0, 8) : `${kind}:${name}`;
  }

  show_command(row: number): string {
    const case_id = shell_quoted(this.cases.text("case_id", row));
    const { database } = this.report;
    const from = database === "" ? "" : ` --db ${shell_quoted(database)}`;
    return `plumbline show ${this.name()} ${case_id}${from}`;
  }
}
