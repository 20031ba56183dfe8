// Opens a page in headless Chromium, for development: errors, requests, axe-core, screenshots.
//
//   node look.mjs PAGE.html FOLDER [--shots] [--print]
//
// Prints problems and exits 1 if there are any. Chromium: $CHROMIUM, or /usr/bin/chromium.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const given = process.argv.slice(2).filter((text) => !text.startsWith("--"));
const [page_path, folder = "dist/shots"] = given;
const with_shots = process.argv.includes("--shots");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const panels = ["overview", "cases", "matrix", "case", "history", "compare", "architectures",
  "coverage", "invariances", "audit", "stories"];
const problems = [];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
async function opened(width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme,
                                             reducedMotion: "reduce" });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(resolve(page_path)).href);
  await page.waitForSelector("h1");
  return { context, page };
}
const go = (page, hash) => page.evaluate((to) => new Promise((done) => {
  location.hash = to;
  setTimeout(done, 60);
}), hash);

const { context, page } = await opened(1280, 720, "light");
const session = await context.newCDPSession(page);
await session.send("Performance.enable");
const { metrics } = await session.send("Performance.getMetrics");
const busy = metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
const lead = await page.evaluate(() =>
  document.querySelector(".news")?.getAttribute("href") ?? "#panel=case");
const lead_case = /case=[^&]*(&row=\d+)?/.exec(lead)?.[0] ?? "";
const bottom = await page.evaluate(() =>
  document.querySelector(".first-screen")?.getBoundingClientRect().bottom ?? 0);
console.log(`first screen ends at ${Math.round(bottom)} of 720 pixels; lead ${lead}`);
console.log(`opened within ${busy.toFixed(2)} s of the main thread, by Chromium's count`);
if (bottom > 720) problems.push(`the first screen ends at ${Math.round(bottom)} pixels`);

for (const panel of panels) {
  await go(page, `#panel=${panel}&${lead_case}`);
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document);
    return violations.map(({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes.length} x ${nodes[0].html.slice(0, 200)} ` +
      (nodes[0].any[0]?.message ?? nodes[0].all[0]?.message ?? "").slice(0, 160));
  });
  for (const text of violations) problems.push(`axe, ${panel}: ${text}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) problems.push(`${panel} is ${wide} pixels too wide at 1280`);
  const first = await page.evaluate(() => document.querySelector("main").innerText.slice(0, 200));
  if (panel === "case") console.log(`case: ${first.replaceAll("\n", " | ")}`);
}
await context.close();

for (const scheme of ["light", "dark"]) {
  for (const [width, height] of [[360, 740], [1280, 720], [1920, 1080]]) {
    if (!with_shots && width !== 360) continue;
    const one = await opened(width, height, scheme);
    for (const panel of with_shots ? panels : ["overview", "case"]) {
      await go(one.page, `#panel=${panel}&${lead_case}`);
      const wide = await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) problems.push(`${panel} is ${wide} pixels too wide at ${width}`);
      const name = `${panel}_${width}_${scheme}.png`;
      if (with_shots)
        await one.page.screenshot({ path: join(folder, name), fullPage: panel !== "overview" });
    }
    if (scheme === "dark") {
      await one.page.evaluate(axe);
      const dark = await one.page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { runOnly: ["color-contrast"] });
        return violations.flatMap(({ nodes }) => nodes.map(({ html }) => html.slice(0, 160)));
      });
      for (const text of dark.slice(0, 5)) problems.push(`axe, dark contrast: ${text}`);
    }
    await one.context.close();
  }
}
if (process.argv.includes("--print")) {
  const one = await opened(1280, 720, "light");
  await one.page.pdf({ path: join(folder, "page.pdf"), format: "A4", printBackground: true });
  await one.context.close();
}
await browser.close();
for (const problem of new Set(problems)) console.log(problem);
console.log(problems.length === 0 ? "nothing is wrong" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
