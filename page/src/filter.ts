// Filters cases: in each filtered column a row must have one of the values, and it must contain all
// words of the search.
import type { CaseTable } from "./case_table.ts";

export interface Filter {
  column: string;
  value: string;
}

const searched = ["case_id", "kernel", "cause", "verdict", "machine"];
const texts = new WeakMap<CaseTable, string[]>();

function search_texts(table: CaseTable): string[] {
  let list = texts.get(table);
  if (list === undefined) {
    list = table.all().map((row) =>
      searched.map((name) => table.text(name, row)).join("\n").replaceAll("_", " ").toLowerCase());
    texts.set(table, list);
  }
  return list;
}

function by_column(filters: readonly Filter[]): Map<string, Set<string>> {
  const columns = new Map<string, Set<string>>();
  for (const { column, value } of filters) {
    if (!columns.has(column)) columns.set(column, new Set());
    columns.get(column)!.add(value);
  }
  return columns;
}

export function filtered(table: CaseTable, filters: readonly Filter[], query: string): number[] {
  let rows = table.all();
  for (const [column, values] of by_column(filters))
    rows = rows.filter((row) => values.has(table.text(column, row)));
  const words = query.toLowerCase().replaceAll("_", " ").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  const list = search_texts(table);
  return rows.filter((row) => words.every((word) => list[row].includes(word)));
}

// Replaces the filters of the columns that occur in `by`.
export function replaced(filters: readonly Filter[], by: readonly Filter[]): Filter[] {
  const columns = new Set(by.map(({ column }) => column));
  return [...filters.filter(({ column }) => !columns.has(column)), ...by];
}

export function without(filters: readonly Filter[], removed: Filter): Filter[] {
  return filters.filter((one) => one.column !== removed.column || one.value !== removed.value);
}
