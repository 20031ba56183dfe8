// A matrix of any two dimensions of the cases.
import { dimensions_of } from "./dimensions.ts";
import { empty, h, type Child } from "./dom.ts";
import { filter_bar } from "./filter_bar.ts";
import { filtered, replaced } from "./filter.ts";
import { grid_legend, matrix_grid } from "./matrix_grid.ts";
import type { Page } from "./page.ts";
import { choice } from "./parts.ts";
import { crossed, in_words, summed } from "./summary.ts";

export function matrix_panel(page: Page): Child {
  const { model, state } = page;
  const { cases } = model;
  const dimensions = dimensions_of(cases).map(({ name, title }) => [name, title] as const);
  const known = (name: string, other: string) =>
    dimensions.some(([one]) => one === name) ? name : other;
  const [down, across] = [known(state.down, "kernel"), known(state.across, "dtype")];
  const rows = filtered(cases, state.filters, state.query);
  const crossing = crossed(cases, rows, down, across);
  return [
    h("h1", { tabindex: -1 }, "Matrix"),
    h("div", { class: "filter-bar" },
      choice("Down", dimensions, down, (name) => page.go({ down: name })),
      choice("Across", dimensions, across, (name) => page.go({ across: name })),
      h("a", { class: "chip", href: page.link({ down: across, across: down }) }, "swap")),
    filter_bar(page, rows),
    h("p", { class: "small-print" }, `${in_words(summed(cases, rows))}. A cell shows the worst ` +
      "percent of the limit of its cases (150x: 150 times the limit), and links to them. " +
      "Arrow keys move, Enter opens."),
    grid_legend(),
    crossing.downs.length === 0
      ? empty("No case matches all filters. Remove one above.")
      : h("section", { class: "card" }, matrix_grid(crossing, {
          label: "Worst percent of the limit",
          counts: true,
          link: (filters) =>
            page.link({ panel: "cases", filters: replaced(state.filters, filters) }),
        })),
  ];
}
