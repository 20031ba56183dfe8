// The table of cases, stored by column, read by column name and row.
import type { Column, Outlook } from "./data.ts";

export class CaseTable {
  private readonly columns = new Map<string, Column>();

  constructor(columns: readonly Column[], readonly rows: number) {
    for (const column of columns) this.columns.set(column.name, column);
  }

  column(name: string): Column | undefined {
    return this.columns.get(name);
  }

  is_numeric(name: string): boolean {
    const column = this.columns.get(name);
    return column !== undefined && "numbers" in column;
  }

  number(name: string, row: number): number | null {
    const column = this.columns.get(name);
    if (column === undefined) return null;
    if ("numbers" in column) return column.numbers[row] ?? null;
    const text = column.words[column.places[row]];
    return text === undefined || text === "" || Number.isNaN(Number(text)) ? null : Number(text);
  }

  // Returns "" if the column or its value is missing.
  text(name: string, row: number): string {
    const column = this.columns.get(name);
    if (column === undefined) return "";
    if ("numbers" in column) {
      const value = column.numbers[row];
      return value === null || value === undefined ? "" : String(value);
    }
    return column.words[column.places[row]] ?? "";
  }

  outlook(row: number): Outlook {
    return (this.text("outlook", row) || "unmeasured") as Outlook;
  }

  is_bad(row: number): boolean {
    const outlook = this.outlook(row);
    return outlook === "failure" || outlook === "open";
  }

  // Returns the values of a column in `rows` and how often each occurs.
  counts(name: string, rows: Iterable<number>): Map<string, number> {
    const counts = new Map<string, number>();
    for (const row of rows) {
      const text = this.text(name, row);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return counts;
  }

  values(name: string): string[] {
    return in_order(name, this.counts(name, this.all()).keys());
  }

  all(): number[] {
    return Array.from({ length: this.rows }, (_, row) => row);
  }
}

const dtypes = ["fp64", "fp32", "tf32", "fp16", "bf16", "e4m3", "e5m2"];

// Sorts values: numbers by size, dtypes from wide to narrow, others alphabetically.
export function in_order(column: string, values: Iterable<string>): string[] {
  const list = [...values];
  const is_dtype = column.endsWith("dtype");
  const place = (text: string) => (dtypes.indexOf(text) + dtypes.length + 1) % (dtypes.length + 1);
  return list.sort((a, b) => {
    if (is_dtype && place(a) !== place(b)) return place(a) - place(b);
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  });
}
