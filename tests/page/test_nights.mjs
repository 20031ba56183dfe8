// How the strip and the table of nights show a night. Needs no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const page = fileURLToPath(new URL("../../page/", import.meta.url));
const { build } = await import(pathToFileURL(join(page, "node_modules/esbuild/lib/main.js")));

const folder = mkdtempSync(join(tmpdir(), "plumbline-page-"));
const outfile = join(folder, "night_strip.mjs");
await build({
  entryPoints: [join(page, "src/night_strip.ts")], bundle: true, format: "esm", outfile });
const { night_in_words, outlook_of_night } = await import(pathToFileURL(outfile));
rmSync(folder, { recursive: true });

const night = (state, counts = {}) => ({
  name: "2026-11-27", run_ids: ["1a2b3c4d-0000"], started_at: "2026-11-27T02:00:00Z", state,
  fine: 3, failures: 0, open: 0, unmeasured: 0, suspect: false, why: "", ...counts });

// All cases of these nights are fine. A night can fail by a suite statistic, or be open because of
// a clock.
test("a night looks like its state where its cases are fine", () => {
  const seen = ["fine", "not fine", "open", "incomplete", "nothing measured"].map(
    (state) => outlook_of_night(night(state)));
  assert.deepEqual(seen, ["fine", "failure", "open", "open", "unmeasured"]);
  assert.match(night_in_words(night("not fine")), /: not fine, 3 fine, 0 failing/);
  assert.match(night_in_words(night("open")), /: open, 3 fine/);
  assert.match(night_in_words(night("fine")), /: 3 fine/);
});

test("a night looks like its cases where they are worse than its state", () => {
  assert.equal(outlook_of_night(night("fine", { failures: 1 })), "failure");
  assert.equal(outlook_of_night(night("incomplete", { failures: 1 })), "failure");
  assert.equal(outlook_of_night(night("nothing measured", { open: 1 })), "open");
  assert.equal(outlook_of_night(night("fine", { fine: 0, unmeasured: 2 })), "unmeasured");
  assert.match(night_in_words(night("not fine", { failures: 1 })), /: 3 fine, 1 failing/);
});
