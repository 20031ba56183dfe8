// Tests pairs.ts: cases that differ in one dimension are pairs. Needs no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const page = fileURLToPath(new URL("../../page/", import.meta.url));
const { build } = await import(pathToFileURL(join(page, "node_modules/esbuild/lib/main.js")));

const folder = mkdtempSync(join(tmpdir(), "plumbline-page-"));
async function bundle(name) {
  const outfile = join(folder, `${name}.mjs`);
  await build({ entryPoints: [join(page, `src/${name}.ts`)], bundle: true, format: "esm",
                outfile });
  return import(pathToFileURL(outfile));
}
const { pairs_of } = await bundle("pairs");
const { CaseTable } = await bundle("case_table");
rmSync(folder, { recursive: true });

const base = { dtype: "bf16", rest: "b2-h8x2-s128x512-d64/mask=causal_top_left" };
const id = ({ dtype, rest }) => `cpu/flash/${dtype}/${rest}`;

// Returns pairs_of for a table of two cases, of which each is one side.
function compared(dimension, a, b) {
  const column = (name, words) => ({ name, words, places: [0, 1] });
  const table = new CaseTable([
    column("case_id", [id(a), id(b)]), column("kernel", ["cpu/flash", "cpu/flash"]),
    column("dtype", [a.dtype, b.dtype]),
  ], 2);
  return pairs_of(dimension, { table, rows: [0] }, { table, rows: [1] });
}

const others = {
  dtype: [{ ...base, dtype: "fp16" }],
  kv_dtype: [{ ...base, rest: `${base.rest}/kv=e4m3` }],
  out_dtype: [{ ...base, rest: `${base.rest}/out=fp32` }],
  mask: [{ ...base, rest: "b2-h8x2-s128x512-d64" }],
  batch: [{ ...base, rest: base.rest.replace("b2", "b3") }],
  heads_q: [{ ...base, rest: base.rest.replace("h8x2", "h4x2") },
            { ...base, rest: base.rest.replace("h8x2", "h2") }],
  heads_kv: [{ ...base, rest: base.rest.replace("h8x2", "h8x4") },
             { ...base, rest: base.rest.replace("h8x2", "h8") }],
  seq_q: [{ ...base, rest: base.rest.replace("s128x512", "s64x512") }],
  seq_kv: [{ ...base, rest: base.rest.replace("s128x512", "s128") }],
  head_dim_qk: [{ ...base, rest: base.rest.replace("d64", "d192x64") }],
  head_dim_vo: [{ ...base, rest: base.rest.replace("d64", "d64x128") }],
};
for (const [dimension, list] of Object.entries(others)) {
  test(`cases that differ in ${dimension} alone are a pair`, () => {
    for (const other of list) {
      const { pairs, only_a, only_b } = compared(dimension, base, other);
      assert.deepEqual([pairs.length, only_a, only_b], [1, 0, 0], id(other));
    }
  });
  test(`cases that differ in ${dimension} are no pair by another dimension`, () => {
    for (const another of Object.keys(others).filter((name) => name !== dimension)) {
      for (const other of list)
        assert.equal(compared(another, base, other).pairs.length, 0, `${id(other)} by ${another}`);
    }
  });
}
