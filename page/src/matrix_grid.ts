// A table of two dimensions. Each cell shows how near its worst case comes to the limit, and links
// to its cases.
import { breakable, h, hidden, scrolling, short } from "./dom.ts";
import { label_of, title_of } from "./dimensions.ts";
import { of_limit, percent, plural, sign } from "./format.ts";
import type { Filter } from "./filter.ts";
import { roving } from "./roving.ts";
import { in_words, outlook_of, type Crossed, type Summary } from "./summary.ts";

export interface GridOptions {
  label: string;
  most?: number; // rows shown; further ones are counted
  link(filters: Filter[]): string;
  more?: { text: string; href: string }; // link after the count of hidden rows
  counts?: boolean; // show the numbers of failing and open cases in each cell
}

function cell_text(summary: Summary): string {
  const outlook = outlook_of(summary);
  if (outlook === "unmeasured") return "";
  if (outlook === "failure" && summary.slower === summary.failures) return "\u25bc slower";
  if (outlook === "failure" && (summary.worst ?? 0) <= 100) return `${sign(outlook)} fails`;
  const worst = summary.worst === null ? "no figure" : percent(summary.worst);
  return outlook === "fine" ? worst : `${sign(outlook)} ${worst}`;
}

function spoken(summary: Summary, down: string, across: string): string {
  const worst = summary.worst === null
    ? "no case was measured"
    : `the worst case is at ${of_limit(summary.worst, "its limit")}`;
  return `${label_of(down)}, ${label_of(across)}: ${worst}; ${in_words(summary)}`;
}

function counts_text(summary: Summary): string {
  const parts = [];
  if (summary.failures > 0) parts.push(`${sign("failure")} ${summary.failures}`);
  if (summary.open > 0) parts.push(`${sign("open")} ${summary.open}`);
  parts.push(`of ${plural(summary.cases, "case")}`);
  return parts.join(" ");
}

function cell(summary: Summary | undefined, down: string, across: string, href: string,
              with_counts: boolean): { td: HTMLElement; target: HTMLElement } {
  if (summary === undefined) {
    const td = h("td", { class: "cell cell-absent" }, hidden("no case"));
    return { td, target: td };
  }
  const outlook = outlook_of(summary);
  const is_part = outlook !== "unmeasured" && summary.unmeasured > 0;
  const said = short(spoken(summary, down, across), 300);
  const link = h("a", { class: "cell-link", href, title: said },
    outlook === "unmeasured" ? "not measured" : cell_text(summary),
    with_counts && h("span", { class: "cell-counts" }, counts_text(summary)),
    hidden(`; ${short(in_words(summary), 200)}`));
  const share = Math.min(1, Math.max(0, (summary.worst ?? 0) / 100));
  const td = h("td", {
    class: `cell cell-${outlook}${is_part ? " cell-part" : ""}`,
    style: { "--share": share.toFixed(2) },
  }, link);
  return { td, target: link };
}

// Explains the colours.
export function grid_legend(): HTMLElement {
  const item = (name: string, share: string, text: string) =>
    h("li", null, h("span", { class: `swatch cell cell-${name}`, style: { "--share": share },
      "aria-hidden": "true" }), text);
  return h("ul", { class: "legend" },
    item("fine", "0.1", "far from the limit"),
    item("fine", "1", "near the limit"),
    item("failure", "1", `${sign("failure")} fails, \u25bc by its time alone`),
    item("open", "1", `${sign("open")} open`),
    item("unmeasured", "0", "not measured (a hatched edge: in part)"));
}

// If the table is wider than its box, scrolls the first column with a failure next to the row
// headers.
function show_failures(box: HTMLElement): void {
  if (box.scrollWidth <= box.clientWidth) return;
  const cells = [...box.querySelectorAll<HTMLTableCellElement>("td.cell-failure")];
  if (cells.length === 0) return;
  const first = cells.reduce((a, b) => (b.cellIndex < a.cellIndex ? b : a));
  const heads = box.querySelector<HTMLElement>("tbody th")!.offsetWidth;
  if (first.offsetLeft + first.offsetWidth > box.clientWidth)
    box.scrollLeft = first.offsetLeft - heads - 4;
}

export function matrix_grid(crossing: Crossed, options: GridOptions): HTMLElement {
  const { down, across, downs, acrosses } = crossing;
  const shown = downs.slice(0, options.most ?? 500);
  const places: (HTMLElement | null)[][] = [];
  const heads = acrosses.map((value) =>
    h("a", { href: options.link([{ column: across, value }]) }, short(label_of(value), 60)));
  places.push([null, ...heads]);
  let first: HTMLElement | null = null;
  const rows = shown.map((value) => {
    const href = options.link([{ column: down, value }]);
    const head = h("a", { href }, breakable(short(label_of(value), 80)));
    const line: (HTMLElement | null)[] = [head];
    const cells = acrosses.map((other) => {
      const href = options.link([{ column: down, value }, { column: across, value: other }]);
      const { td, target } = cell(crossing.at(value, other), value, other, href,
        options.counts ?? false);
      line.push(target);
      if (first === null && target !== td) first = target;
      return td;
    });
    places.push(line);
    return h("tr", null, h("th", { scope: "row" }, head), cells);
  });
  const table = h("table", { class: "grid", role: "grid", "aria-label": options.label },
    h("thead", null, h("tr", null,
      h("td", { class: "corner" }, `${title_of(down)} \u2193  ${title_of(across)} \u2192`),
      heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", null, rows));
  roving(table, places, first);
  const left_out = downs.length - shown.length;
  const box = scrolling(options.label, table);
  requestAnimationFrame(() => show_failures(box));
  return h("div", null, box,
    left_out > 0 && h("p", { class: "small-print" },
      `${plural(left_out, "more row")}: those shown are the worst. `,
      options.more && h("a", { href: options.more.href }, options.more.text)));
}
