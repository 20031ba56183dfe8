// Mutants that the cases catch or miss, and legal kernels that they flag.
import type { Audit, AuditedMutant } from "./data.ts";
import { data_table, plain_table } from "./data_table.ts";
import { clipped, empty, h, short, type Child } from "./dom.ts";
import { mark, plural } from "./format.ts";
import type { Page } from "./page.ts";
import { section } from "./parts.ts";

// If a mutant's output equals the correct kernel's, its bug did not show, which proves nothing.
function outlook_of(mutant: AuditedMutant): "fine" | "failure" | "open" | "unmeasured" {
  if (mutant.caught) return "fine";
  if (mutant.changed === 0) return "unmeasured";
  return mutant.reviewed ? "open" : "failure";
}
const words = {
  fine: "caught",
  failure: "let through",
  open: "let through, reviewed",
  unmeasured: "never showed",
};
const ranks = { failure: 0, open: 1, unmeasured: 2, fine: 3 };

function sentence(audit: Audit): string {
  const caught = audit.mutants.filter((mutant) => mutant.caught).length;
  const alarms = audit.legal.reduce((sum, { false_alarms }) => sum + false_alarms, 0);
  const runs = audit.legal.reduce((sum, one) => sum + one.runs, 0);
  return `${caught} of ${plural(audit.mutants.length, "planted bug")} caught, ` +
    `${alarms} false alarms in ${plural(runs, "run")} of legal kernels. Suites: ` +
    `${audit.suites.join(", ")}.`;
}

function by_dtype({ dtypes }: Audit): HTMLElement {
  return section("By dtype", plain_table("What is caught, by dtype",
    ["dtype", "planted bugs", "caught", "of them pass allclose 1e-2 in a case", "legal kernels",
      "of them flagged", "runs of legal kernels", "false alarms"],
    dtypes.map((row) => [row.dtype, row.mutants, row.caught, row.slip_allclose_1e2,
      row.legal_kernels, row.legal_flagged, row.legal_runs, row.false_alarms])));
}

function mutants({ mutants: rows }: Audit): HTMLElement {
  const sorted = [...rows].sort((a, b) => ranks[outlook_of(a)] - ranks[outlook_of(b)]);
  return section("Planted bugs", data_table<AuditedMutant>({
    label: "Planted bugs",
    noun: "planted bug",
    rows: sorted,
    class_of: (mutant) => `row-${outlook_of(mutant)}`,
    columns: [
      { name: "outlook", title: "result", key: (mutant) => ranks[outlook_of(mutant)],
        show: (mutant) => mark(outlook_of(mutant), words[outlook_of(mutant)]) },
      { name: "name", title: "bug", show: ({ name }) => short(name, 80) },
      "dtype",
      { name: "what", title: "what is wrong", most: 200 },
      { name: "by", title: "caught by" },
      { name: "fault", title: "diagnosed as", show: ({ fault }) => clipped(fault, 160) },
      { name: "diagnosed", title: "diagnosis" },
      { name: "reviewed", title: "why it may pass", show: ({ reviewed }) =>
          clipped(reviewed ?? "", 200) },
    ],
  }));
}

function legal({ legal: rows }: Audit): HTMLElement {
  const flagged = rows.filter(({ false_alarms }) => false_alarms > 0);
  if (flagged.length === 0)
    return section("Legal kernels",
      h("p", null, mark(rows.length > 0 ? "fine" : "unmeasured",
        rows.length > 0 ? `none of ${rows.length} was flagged (each dtype counts)`
          : "none was run")));
  return section("Legal kernels that were flagged", plain_table("Legal kernels that were flagged",
    ["kernel", "dtype", "runs", "false alarms", "first case", "why"],
    flagged.map((row) => [short(row.kernel, 80), row.dtype, row.runs, row.false_alarms,
      short(row.first_case, 140), clipped(row.why, 240)])));
}

export function audit_panel(page: Page): Child {
  const { audit } = page.model.report;
  return [
    h("h1", { tabindex: -1 }, "Audit"),
    h("p", null, "The audit tests the cases: they must fail kernels with one planted bug each, " +
      "and pass legal kernels."),
    audit === null
      ? empty("This page has no audit. These two commands make a page with one:",
          "plumbline audit --format json > audit.json; plumbline report --audit audit.json")
      : [h("p", null, sentence(audit)), by_dtype(audit), mutants(audit), legal(audit)],
  ];
}
