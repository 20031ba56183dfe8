// The dimensions of cases: columns that can be axes, filters and sides of a comparison.
import type { CaseTable } from "./case_table.ts";

export interface Dimension {
  name: string; // the column's name
  title: string;
}

export const dimensions: readonly Dimension[] = [
  { name: "kernel", title: "kernel" },
  { name: "dtype", title: "dtype" },
  { name: "kv_dtype", title: "dtype of K and V" },
  { name: "out_dtype", title: "dtype of the output" },
  { name: "arch", title: "architecture" },
  { name: "tensor_cores", title: "tensor cores" },
  { name: "device", title: "device" },
  { name: "machine", title: "machine class" },
  { name: "mask", title: "mask" },
  { name: "layout", title: "layout" },
  { name: "padding", title: "padding side" },
  { name: "lengths", title: "lengths" },
  { name: "law", title: "input distribution" },
  { name: "suite", title: "suite" },
  { name: "case_group", title: "group of the suite" },
  { name: "tier", title: "tier" },
  { name: "batch", title: "batch" },
  { name: "heads_q", title: "query heads" },
  { name: "heads_kv", title: "KV heads" },
  { name: "seq_q", title: "queries" },
  { name: "seq_kv", title: "keys" },
  { name: "head_dim_qk", title: "head dimension of Q and K" },
  { name: "head_dim_vo", title: "head dimension of V" },
  { name: "outlook", title: "standing" },
  { name: "verdict", title: "verdict" },
  { name: "cause", title: "cause" },
  { name: "status", title: "status" },
  { name: "nearest_statistic", title: "statistic nearest to its limit" },
];

export function title_of(column: string): string {
  return dimensions.find(({ name }) => name === column)?.title ?? column.replaceAll("_", " ");
}

// Returns the dimensions that the table has, even those with only one value.
export function dimensions_of(table: CaseTable): Dimension[] {
  return dimensions.filter(({ name }) => table.column(name) !== undefined);
}

// Returns a value as a label, "(none)" for "".
export function label_of(value: string): string {
  return value === "" ? "(none)" : value;
}
