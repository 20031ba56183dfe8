// Shows the filters, each as a link that removes it, and two lists from which to add a filter.
import { dimensions_of, label_of, title_of } from "./dimensions.ts";
import { h, short } from "./dom.ts";
import { replaced, without } from "./filter.ts";
import { count } from "./format.ts";
import type { Page } from "./page.ts";
import { choice } from "./parts.ts";

function chips(page: Page): HTMLElement {
  const { filters, query } = page.state;
  const chip = (text: string, href: string) =>
    h("li", null, h("a", { class: "chip", href, "aria-label": `Remove the filter ${text}` },
      text, " ", h("span", { "aria-hidden": "true" }, "\u2715")));
  const is_any = filters.length > 0 || query !== "";
  return h("ul", { class: "chips", "aria-label": "Filters" },
    query !== "" && chip(`search: ${short(query, 80)}`, page.link({ query: "" })),
    filters.map((filter) => chip(
      `${title_of(filter.column)}: ${short(label_of(filter.value), 80)}`,
      page.link({ filters: without(filters, filter) }))),
    is_any && h("li", null, h("a", { href: page.link({ filters: [], query: "" }) }, "remove all")));
}

// The dimension whose values are listed. Not part of the URL.
let asked = "kernel";

export function filter_bar(page: Page, rows: readonly number[]): HTMLElement {
  const { cases } = page.model;
  const dimensions = dimensions_of(cases);
  const box = h("div", { class: "filter-bar" });
  const names = dimensions.map(({ name, title }) => [name, title] as const);
  const draw = () => {
    const counts = cases.counts(asked, rows);
    const values = cases.values(asked).filter((value) => counts.has(value)).slice(0, 500);
    box.replaceChildren(
      choice("Filter by", names, asked, (name) => {
        asked = name;
        draw();
        box.querySelector<HTMLSelectElement>("select")?.focus();
      }),
      // The first entry is a placeholder, so that any choice is a change. "=" distinguishes a
      // value "" from the placeholder.
      choice("Value", [["", "choose\u2026"] as const, ...values.map((value) =>
        [`=${value}`, `${label_of(value)} (${count(counts.get(value) ?? 0)})`] as const)], "",
        (value) => value !== "" && page.go({ panel: "cases", filters:
          replaced(page.state.filters, [{ column: asked, value: value.slice(1) }]) })),
      chips(page));
  };
  draw();
  return box;
}
