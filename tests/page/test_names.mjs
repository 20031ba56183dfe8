// Tests format.ts and the names of nights and runs. Needs no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const page = fileURLToPath(new URL("../../page/", import.meta.url));
const { build } = await import(pathToFileURL(join(page, "node_modules/esbuild/lib/main.js")));

const folder = mkdtempSync(join(tmpdir(), "plumbline-page-"));
const outfile = join(folder, "format.mjs");
await build({ entryPoints: [join(page, "src/format.ts")], bundle: true, format: "esm", outfile });
const { night_date, night_day, night_title, percent } = await import(pathToFileURL(outfile));
rmSync(folder, { recursive: true });

const night = (name) => ({ name, run_ids: ["1a2b3c4d-0000"], started_at: "2026-11-27T02:00:00Z" });

test("nights of one day have labels of their own", () => {
  const names = ["2026-11-27", "2026-11-27.2", "2026-11-27.3"];
  assert.deepEqual(names.map((name) => night_day(night(name))), ["11-27", "11-27.2", "11-27.3"]);
  assert.deepEqual(names.map((name) => night_date(night(name))), names);
  assert.equal(night_title(night("2026-11-27.2")), "night 2026-11-27.2");
});

test("a run without a night shows its date", () => {
  const run = night("1a2b3c4d");
  assert.equal(night_day(run), "11-27");
  assert.equal(night_date(run), "2026-11-27");
  assert.equal(night_title(run), "run 1a2b3c4d of 2026-11-27");
});

// As harness/base/percent.cc writes them.
test("what is beyond 9999 % is a factor of three digits", () => {
  assert.equal(percent(9999), "9999 %");
  assert.equal(percent(180_000), "1800x");
  assert.equal(percent(7_007_298), "70100x");
  assert.equal(percent(99_950_000), "1.0e6x");
});
