// The pictures of README.md and docs/report.md, drawn again from the night of make_night.py. The
// files in docs/images must look the same and be small.
//   PAGE_NIGHT=FOLDER PAGE_SHOTS=FOLDER CHROMIUM=… node --test test_pictures.mjs
// To write them (pngquant is a package of Debian):
//   … PAGE_PICTURES=docs/images node --test test_pictures.mjs
//   pngquant --force --ext .png --speed 1 64 docs/images/*.png
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = new URL("../../", import.meta.url);
const require = createRequire(fileURLToPath(new URL("page/", root)));
const { chromium } = require("playwright-core");
const { PAGE_NIGHT, PAGE_PICTURES, PAGE_SHOTS, CHROMIUM } = process.env;
const images = fileURLToPath(new URL("docs/images/", root));
const expected = JSON.parse(readFileSync(join(PAGE_NIGHT, "expected.json"), "utf8"));
const most_bytes = 200_000, names = ["night.png", "mutant.png"];
let browser;

before(async () => {
  mkdirSync(PAGE_PICTURES ?? PAGE_SHOTS, { recursive: true });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

async function drawn(file, hash, width, height, hidden) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light" });
  await page.goto(pathToFileURL(join(PAGE_NIGHT, file)).href + hash);
  await page.waitForSelector("h1");
  await page.addStyleTag({ content: `${hidden} { display: none !important; }` });
  // A long processor name would wrap its line and shift everything below.
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
      texts.currentNode.data = texts.currentNode.data.replace(
        /(cpu x86-64-v\d) [^·]+ ·/, "$1 AMD EPYC ·");
  });
  const bottom = await page.evaluate(() => Math.max(...[...document.querySelectorAll(
    ".first-screen, main .two-columns")].map((part) => part.getBoundingClientRect().bottom)));
  const clip = { x: 0, y: 0, width, height: Math.min(height, Math.ceil(bottom) + 12) };
  const picture = await page.screenshot({ clip });
  await page.close();
  return picture;
}

// The share of pixels that differ by more than a quarter of white, in two pictures of like size.
async function difference(a, b) {
  const page = await browser.newPage();
  const share = await page.evaluate(async (urls) => {
    const [one, other] = await Promise.all(urls.map(async (url) => {
      const bitmap = await createImageBitmap(await (await fetch(url)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const context = canvas.getContext("2d");
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    if (one.width !== other.width || Math.abs(one.height - other.height) > 60) return 1;
    const size = Math.min(one.data.length, other.data.length);
    let differing = 0;
    for (let i = 0; i < size; i += 4) {
      const by = (channel) => Math.abs(one.data[i + channel] - other.data[i + channel]);
      if (Math.max(by(0), by(1), by(2)) > 64) ++differing;
    }
    return differing / (size / 4);
  }, [a, b].map((bytes) => `data:image/png;base64,${bytes.toString("base64")}`));
  await page.close();
  return share;
}

const drawings = {
  "night.png": () => drawn("first.html", "", 1100, 620, "footer"),
  "mutant.png": () => drawn("night.html",
    `#panel=case&case=${encodeURIComponent(expected.causes[0].case)}`, 1100, 760,
    ".neighbours, .panel-case > .card, .panel-case h2.label, .panel-case h2.label + *"),
};
for (const name of names)
  test(`docs/images/${name} shows what the page shows`, async () => {
    const picture = await drawings[name]();
    writeFileSync(join(PAGE_PICTURES ?? PAGE_SHOTS, name), picture);
    const share = await difference(picture, readFileSync(join(images, name)));
    assert.ok(share < 0.1, `${(100 * share).toFixed(1)} % of its pixels are others`);
  });

test("README.md and docs/report.md show one each, and they are small", () => {
  const shown = { "README.md": "docs/images/night.png", "docs/report.md": "images/mutant.png" };
  assert.deepEqual(Object.values(shown).map((file) => file.replace(/.*\//, "")).sort(),
    [...names].sort());
  for (const [page, file] of Object.entries(shown))
    assert.match(readFileSync(new URL(page, root), "utf8"),
      new RegExp(`!\\[[^\\]]{40,}\\]\\(${file}\\)`), "with a text");
  const bytes = names.reduce((sum, name) => sum + statSync(join(images, name)).size, 0);
  assert.ok(bytes < most_bytes, `${bytes} bytes`);
});
