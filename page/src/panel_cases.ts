// The table of cases, filtered, searched and sorted.
import type { CaseTable } from "./case_table.ts";
import { data_table, key_of, type TableColumn } from "./data_table.ts";
import { title_of } from "./dimensions.ts";
import { empty, h, short, type Child } from "./dom.ts";
import { filter_bar } from "./filter_bar.ts";
import { filtered, replaced } from "./filter.ts";
import { change, count, duration, mark, number, percent } from "./format.ts";
import type { Page } from "./page.ts";
import { case_link } from "./parts.ts";
import { in_words, summed } from "./summary.ts";

// A value that filters when clicked. The tab key skips it, because the lists above the table offer
// the same filters.
function value_link(page: Page, column: string, row: number, most = 60): HTMLElement {
  const value = page.model.cases.text(column, row);
  return h("a", {
    class: "value",
    tabindex: -1,
    href: page.link({ panel: "cases",
                      filters: replaced(page.state.filters, [{ column, value }]) }),
    title: `only ${title_of(column)}: ${short(value, 300)}`,
  }, short(value, most));
}

function word_column(page: Page, name: string, title: string, most?: number): TableColumn<number> {
  const { cases } = page.model;
  return { name, title, key: (row) => cases.text(name, row),
           show: (row) => value_link(page, name, row, most) };
}

function number_column(cases: CaseTable, name: string, title: string, about: string,
                       format: (value: number | null) => string): TableColumn<number> {
  return { name, title, about, format, key: (row) => cases.number(name, row) };
}

// Returns the columns in which one of the rows has a value.
function columns(page: Page, rows: readonly number[]): TableColumn<number>[] {
  const { cases } = page.model;
  const is_known = (key: string | number | null) => key !== null && key !== "";
  const all: TableColumn<number>[] = [
    { name: "verdict", title: "verdict", key: (row) => cases.text("verdict", row), show: (row) =>
        h("a", { class: "value", tabindex: -1, href: page.link({ filters: replaced(
          page.state.filters, [{ column: "verdict", value: cases.text("verdict", row) }]) }) },
          mark(cases.outlook(row), cases.text("verdict", row))) },
    { name: "case_id", title: "case", key: (row) => cases.text("case_id", row),
      show: (row) => case_link(page, row, 110) },
    number_column(cases, "percent_of_limit", "% of limit",
      "of the statistic that is nearest to its limit; above 100 % the case fails; " +
        "150x: 150 times the limit", percent),
    number_column(cases, "rms", "rms (sigma)", "root of the mean squared error, in sigma", number),
    number_column(cases, "peak", "peak (sigma)", "largest error, in sigma", number),
    number_column(cases, "time_ns", "time", "median of a call", duration),
    number_column(cases, "gate_change", "time change",
      "from the level of the nights before", change),
    { ...word_column(page, "cause", "cause", 160), wide: true },
    word_column(page, "kernel", "kernel"),
    word_column(page, "dtype", "dtype"),
    word_column(page, "arch", "architecture"),
    word_column(page, "mask", "mask"),
    word_column(page, "layout", "layout"),
    word_column(page, "suite", "suite"),
    word_column(page, "machine", "machine class"),
  ];
  return all.filter((column) => cases.column(column.name) !== undefined &&
    (column.name === page.state.sort || rows.some((row) => is_known(key_of(column, row)))));
}

export function cases_panel(page: Page): Child {
  const { model, state } = page;
  const { cases } = model;
  const chosen = new Set(filtered(cases, state.filters, state.query));
  const rows = model.by_importance.filter((row) => chosen.has(row));
  const counted = summed(cases, rows);
  return [
    h("h1", { tabindex: -1 }, "Cases"),
    filter_bar(page, rows),
    cases.rows === 0
      ? empty("The run has no cases: its suites planned none for this device and tier. This " +
          "command runs some:", "plumbline run cases/smoke.toml")
      : rows.length === 0
        ? empty(`None of the ${count(cases.rows)} cases matches all filters and words. Remove ` +
            "one above.")
        : [h("p", { class: "small-print", role: "status" }, `${in_words(counted)}.`),
           data_table({
             label: "Cases",
             noun: "case",
             rows,
             columns: columns(page, rows),
             sort: { column: state.sort, descending: state.descending },
             on_sort: ({ column, descending }) => page.go({ sort: column, descending }),
             class_of: (row) => `row-${cases.outlook(row)}`,
           })],
  ];
}
