// Pairs of cases that differ in one dimension.
import type { CaseTable } from "./case_table.ts";
import { title_of } from "./dimensions.ts";

export interface Side {
  table: CaseTable;
  rows: readonly number[];
}

export interface Pair {
  problem: string; // the shared part of their case ids
  a: number; // row in the table of its side
  b: number;
}

export interface Pairs {
  pairs: Pair[];
  ignored: string[]; // titles of other dimensions that may differ
  only_a: number; // cases without a partner
  only_b: number;
}

// Further dimensions in which A and B may differ, by compared dimension. Each list is tried if the
// lists before it give no pairs.
const following: Record<string, string[][]> = {
  report: [[], ["machine", "arch", "device"]],
  kernel: [["tensor_cores"], ["tensor_cores", "device", "arch", "machine"]],
  arch: [["device", "machine", "tensor_cores"]],
  device: [["arch", "machine", "tensor_cores"]],
  machine: [[], ["arch", "device", "tensor_cores"]],
  tensor_cores: [[], ["kernel"], ["kernel", "device", "arch", "machine"]],
  suite: [["case_group", "tier"]],
};
const placed = ["machine", "device", "arch", "tensor_cores"]; // dimensions that case ids may lack

// In a case id, these columns have other keys, and the columns of the shape are one part.
const id_keys: Record<string, string> = { kv_dtype: "kv", out_dtype: "out" };
const shape_columns = [
  "batch", "heads_q", "heads_kv", "seq_q", "seq_kv", "head_dim_qk", "head_dim_vo",
];
const shape = /^b(\d+)-h(\d+)(?:x(\d+))?-s(\d+)(?:x(\d+))?-d(\d+)(?:x(\d+))?$/;

// Returns "b2-h8x*-s128x128-d64x64" for "b2-h8-s128-d64" without heads_kv.
function common_shape(part: string, dropped: ReadonlySet<string>): string {
  const found = shape.exec(part);
  if (found === null || !shape_columns.some((name) => dropped.has(name))) return part;
  const [, b, hq, hkv = hq, sq, skv = sq, dqk, dvo = dqk] = found;
  const [batch, ...pairs] = [b, hq, hkv, sq, skv, dqk, dvo].map((number, i) =>
    dropped.has(shape_columns[i]) ? "*" : number);
  return `b${batch}-h${pairs[0]}x${pairs[1]}-s${pairs[2]}x${pairs[3]}-d${pairs[4]}x${pairs[5]}`;
}

// Returns a case id without its kernel and the dropped dimensions.
function common_id(table: CaseTable, row: number, dropped: ReadonlySet<string>): string {
  let id = table.text("case_id", row);
  const kernel = table.text("kernel", row);
  if (id.startsWith(`${kernel}/`)) id = id.slice(kernel.length + 1);
  const dtype = table.text("dtype", row);
  const keys = new Set([...dropped].map((name) => id_keys[name] ?? name));
  const kept = id.split("/").filter((part) => {
    if (dropped.has("dtype") && part === dtype) return false;
    const at = part.indexOf("=");
    return at < 0 || !keys.has(part.slice(0, at));
  });
  return kept.map((part) => common_shape(part, dropped)).join("/");
}

function by_problem({ table, rows }: Side, dropped: ReadonlySet<string>): Map<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) {
    const keys = [common_id(table, row, dropped)];
    if (!dropped.has("kernel")) keys.push(table.text("kernel", row));
    for (const name of placed) if (!dropped.has(name)) keys.push(table.text(name, row));
    const key = keys.join("\n");
    const before = found.get(key);
    // If several suites have the case, prefer a measured one.
    if (before === undefined || table.number("rms", before) === null) found.set(key, row);
  }
  return found;
}

export function pairs_of(dimension: string, a: Side, b: Side): Pairs {
  for (const ignored of following[dimension] ?? [[]]) {
    const dropped = new Set([dimension, ...ignored]);
    const [of_a, of_b] = [by_problem(a, dropped), by_problem(b, dropped)];
    const pairs: Pair[] = [];
    for (const [key, row] of of_a) {
      const partner = of_b.get(key);
      if (partner !== undefined)
        pairs.push({ problem: key.split("\n")[0], a: row, b: partner });
    }
    if (pairs.length === 0) continue;
    return {
      pairs,
      ignored: ignored.map(title_of),
      only_a: of_a.size - pairs.length,
      only_b: of_b.size - pairs.length,
    };
  }
  return { pairs: [], ignored: [], only_a: a.rows.length, only_b: b.rows.length };
}
