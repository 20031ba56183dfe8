// Cases that were not measured, and the features that each kernel supports or refuses.
import { data_table } from "./data_table.ts";
import { clipped, empty, h, short, type Child } from "./dom.ts";
import { count, mark, plural } from "./format.ts";
import type { Page } from "./page.ts";
import { section } from "./parts.ts";
import { crossed, type Summary } from "./summary.ts";

function unmeasured_cell(page: Page, kernel: string, dtype: string,
                         summary: Summary | undefined): HTMLElement {
  if (summary === undefined) return h("td", { class: "cell cell-absent" });
  const { unmeasured, cases } = summary;
  const href = page.link({ panel: "cases", query: "", filters: [
    { column: "kernel", value: kernel }, { column: "dtype", value: dtype },
    ...(unmeasured > 0 ? [{ column: "outlook", value: "unmeasured" }] : [])] });
  const kind = unmeasured === 0 ? "plain" : unmeasured === cases ? "unmeasured" : "some";
  const missing = `${((100 * unmeasured) / cases).toFixed(0)}%`;
  return h("td", { class: `cell cell-${kind}`, style: { "--missing": missing } },
    h("a", { class: "cell-link", href, title: `${kernel}, ${dtype}: ${count(unmeasured)} of ` +
      `${plural(cases, "case")} were not measured` },
      unmeasured === 0 ? `all ${count(cases)}`
        : `${count(cases - unmeasured)} of ${count(cases)}`));
}

function measured(page: Page): HTMLElement {
  const { cases } = page.model;
  const crossing = crossed(cases, cases.all(), "kernel", "dtype");
  const missing = (kernel: string) => crossing.total(kernel).unmeasured;
  const downs = [...crossing.downs].sort((a, b) => missing(b) - missing(a));
  return section("Cases that were measured, by kernel and dtype",
    downs.length === 0
      ? empty("The run has no cases. This command runs the suite of every night:",
          "plumbline run cases/nightly.toml")
      : h("div", { class: "scrolling", tabindex: 0, role: "group", "aria-label": "Measured cases" },
          h("table", { class: "grid" },
            h("caption", { class: "hidden" }, "Measured cases by kernel and dtype"),
            h("thead", null, h("tr", null, h("th", { scope: "col" }, "kernel"),
              crossing.acrosses.map((dtype) => h("th", { scope: "col" }, dtype)))),
            h("tbody", null, downs.map((kernel) => h("tr", null,
              h("th", { scope: "row" }, short(kernel, 80)),
              crossing.acrosses.map((dtype) =>
                unmeasured_cell(page, kernel, dtype, crossing.at(kernel, dtype)))))))),
    h("p", { class: "small-print" },
      "Hatched: not measured. A cell links to its unmeasured cases, or to all if it has none."));
}

function lost(page: Page): HTMLElement {
  const groups = page.model.report.groups.map((group, place) => ({ group, place }))
    .filter(({ group }) => group.kind === "coverage");
  return section("Lost since the run before",
    groups.length === 0
      ? empty("Nothing that was measured before is missing now, or nothing was measured before. " +
          "This command compares two runs:", "plumbline compare latest~1 latest")
      : h("ul", { class: "plain-list" }, groups.map(({ group, place }) => h("li", null,
          h("a", { href: page.link({ panel: "overview", group: place }) }, short(group.title, 200)),
          h("span", { class: "muted" }, ` ${group.kernel}, ` +
            plural(group.cases.length + group.names.length, "case"))))));
}

const outlooks: Record<string, string> = {
  supported: "fine",
  unsupported: "unmeasured",
  mixed: "open",
};

function support(page: Page): HTMLElement {
  const { support } = page.model.report;
  if (support.length === 0)
    return section("What each kernel supports", empty("No case ran, so it is unknown what " +
      "kernels support. This command lists what a run refused:", "plumbline support suggest"));
  return section("What each kernel supports", data_table({
    label: "What each kernel supports",
    rows: support,
    columns: [
      { name: "kernel", show: ({ kernel }) => short(kernel, 80) },
      { name: "arch", title: "architecture" }, "dtype", "mask", "layout",
      { name: "support", show: (row) =>
          mark(outlooks[row.support] ?? "unmeasured", row.support) },
      { name: "reasons", show: ({ reasons }) => (reasons === "" ? "" : clipped(reasons, 240)) },
    ],
  }));
}

export function coverage_panel(page: Page): Child {
  return [
    h("h1", { tabindex: -1 }, "Coverage and support"),
    lost(page),
    measured(page),
    support(page),
  ];
}
