// A table sorted by its headers. It draws 200 rows at a time.
import { clipped, h, scrolling, type Child } from "./dom.ts";
import { count, none } from "./format.ts";

type Key = string | number | null;

export interface TableColumn<Row> {
  name: string;
  title?: string; // default: the name
  about?: string; // tooltip of the header
  numeric?: boolean;
  wide?: boolean; // prose, which needs room
  key?(row: Row): Key; // the sort key; default: the row's member `name`
  // The cell's content; default: the key.
  show?(row: Row): Child;
  format?(value: number | null): string;
  most?: number; // characters of a text shown at first
}

export interface Sort {
  column: string; // "": unsorted
  descending: boolean;
}

export interface TableOptions<Row> {
  label: string;
  columns: readonly (string | TableColumn<Row>)[]; // a string is a column's name
  rows: readonly Row[];
  sort?: Sort;
  on_sort?: (sort: Sort) => void; // default: the table sorts itself
  class_of?: (row: Row) => string;
  noun?: string;
}

const at_once = 200;

function compare(a: Key, b: Key): number {
  if (a === null || a === "") return b === null || b === "" ? 0 : 1; // missing values come last
  if (b === null || b === "") return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}

export function key_of<Row>({ key, name }: TableColumn<Row>, row: Row): Key {
  return key ? key(row) : (row as Record<string, Key>)[name];
}

function sorted<Row>(rows: readonly Row[], columns: readonly TableColumn<Row>[],
                            sort: Sort): readonly Row[] {
  const column = columns.find(({ name }) => name === sort.column);
  if (column === undefined) return rows;
  const keys = new Map(rows.map((row) => [row, key_of(column, row)]));
  return [...rows].sort((a, b) => {
    const [x, y] = [keys.get(a) ?? null, keys.get(b) ?? null];
    const is_absent = x === null || x === "" || y === null || y === "";
    return sort.descending && !is_absent ? compare(y, x) : compare(x, y);
  });
}

function child_of<Row>(column: TableColumn<Row>, row: Row): Child {
  if (column.show) return column.show(row);
  const key = key_of(column, row);
  if (column.format) return column.format(key as number | null);
  if (key === null || key === "") return none;
  return column.most ? clipped(String(key), column.most) : key;
}

function is_numeric<Row>({ numeric, format }: TableColumn<Row>): boolean {
  return numeric === true || format !== undefined;
}

function cells<Row>(columns: readonly TableColumn<Row>[], row: Row): HTMLElement[] {
  return columns.map((column) => h("td",
    { class: is_numeric(column) ? "number" : column.wide ? "wide" : null },
    child_of(column, row)));
}

export function data_table<Row>(options: TableOptions<Row>): HTMLElement {
  const { noun = "row" } = options;
  const columns = options.columns.map((column) =>
    typeof column === "string" ? { name: column } : column);
  let sort = options.sort ?? { column: "", descending: false };
  let rows = sorted(options.rows, columns, sort);
  let shown = 0;
  const body = h("tbody");
  const status = h("span", { role: "status" });
  const more: HTMLButtonElement =
    h("button", { type: "button", onclick: () => show_more() }, `Show ${at_once} more`);
  const foot = h("p", { class: "small-print" }, status, " ", more);
  const heads = columns.map((column) => {
    const button = h("button", {
      type: "button",
      class: "sort",
      title: column.about ?? null,
      "data-key": `sort:${options.label}:${column.name}`,
      onclick: () => sort_by(column),
    }, column.title ?? column.name, h("span", { class: "arrow", "aria-hidden": "true" }));
    return h("th", { scope: "col", class: is_numeric(column) ? "number" : null }, button);
  });

  function mark_heads(): void {
    heads.forEach((head, i) => {
      const is_key = columns[i].name === sort.column;
      if (is_key) head.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      const arrow = !is_key ? "" : sort.descending ? " \u25be" : " \u25b4";
      head.querySelector(".arrow")!.textContent = arrow;
    });
  }
  // Sorts numbers from the largest, because failures are large, and words from A. The next click
  // reverses the order.
  function sort_by(column: TableColumn<Row>): void {
    const is_key = column.name === sort.column;
    const descending = is_key ? !sort.descending : is_numeric(column);
    sort = { column: column.name, descending };
    if (options.on_sort) return options.on_sort(sort);
    rows = sorted(options.rows, columns, sort);
    shown = 0;
    body.replaceChildren();
    show_more();
  }
  function show_more(): void {
    const until = Math.min(rows.length, shown + at_once);
    for (const row of rows.slice(shown, until))
      body.append(h("tr", { class: options.class_of?.(row) }, cells(columns, row)));
    shown = until;
    mark_heads();
    const plural = rows.length === 1 ? noun : `${noun}s`;
    status.textContent = shown === rows.length
      ? `${count(rows.length)} ${plural}.`
      : `${count(shown)} of ${count(rows.length)} ${plural}.`;
    more.hidden = shown === rows.length;
  }

  show_more();
  return h("div", { class: "data-table" },
    scrolling(options.label, h("table", null,
      h("caption", { class: "hidden" }, options.label),
      h("thead", null, h("tr", null, heads)), body)),
    foot);
}

// Cells that are read as one word, such as a number with its unit, do not wrap.
function class_of_cell(child: Child): string | null {
  return typeof child === "number" || (typeof child === "string" && child.length <= 24)
    ? "brief" : null;
}

// A short table without sorting; the first column names the row.
export function plain_table(label: string, titles: readonly string[],
                            rows: readonly (readonly Child[])[]): HTMLElement {
  return scrolling(label, h("table", null,
    h("caption", { class: "hidden" }, label),
    h("thead", null, h("tr", null, titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((child, i) =>
      h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: class_of_cell(child) },
        child)))))));
}
