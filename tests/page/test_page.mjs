// The page of a real night, in headless Chromium. tests/page/make_night.py made the night.
//   PAGE_NIGHT=FOLDER PLUMBLINE=… PAGE_SHOTS=FOLDER CHROMIUM=… node --test test_page.mjs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const page_folder = new URL("../../page/", import.meta.url);
const require = createRequire(fileURLToPath(page_folder));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { PAGE_NIGHT, PAGE_SHOTS, PLUMBLINE, CHROMIUM } = process.env;
const expected = JSON.parse(readFileSync(join(PAGE_NIGHT, "expected.json"), "utf8"));
const report = JSON.parse(readFileSync(join(PAGE_NIGHT, "night.json"), "utf8"));
const panels = ["overview", "cases", "matrix", "case", "history", "compare", "architectures",
  "coverage", "invariances", "audit", "stories"];
const lead = `&case=${encodeURIComponent(expected.causes[0].case)}`;
const url_of = (name) => pathToFileURL(join(PAGE_NIGHT, name)).href;
let browser;

before(async () => {
  mkdirSync(PAGE_SHOTS, { recursive: true });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

// Opens the page. `wrong` collects its errors, its warnings and its requests to a network.
async function opened({ hash = "", file = "night.html", scheme = "light", width = 1280,
                        height = 720 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme,
                                             reducedMotion: "reduce" });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) wrong.push(request.url());
  });
  await page.goto(url_of(file) + hash);
  await page.waitForSelector("h1");
  return { page, wrong, close: () => context.close() };
}
const text = (page) => page.evaluate(() => document.querySelector("main").innerText);
const go = (page, hash) => page.evaluate((to) => new Promise((done) => {
  location.hash = to;
  setTimeout(done, 60);
}), hash);

// Returns true if `whole` contains `pattern`, in which "*" stands for any characters.
function holds(whole, pattern) {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join(".*")).test(whole.replace(/\s+/g, " "));
}

test("the first screen says what broke; the regressed case is two clicks away", async () => {
  const { page, wrong, close } = await opened();
  const bottom = await page.evaluate(() =>
    document.querySelector(".first-screen").getBoundingClientRect().bottom);
  assert.ok(bottom <= 720, `the first screen ends at ${bottom} pixels`);
  assert.match(await page.locator("h1").innerText(),
    /^Not fine: \d+ failures in .* cpu\/split_kv in \d+ cases since night 2027-01-05: /);
  await page.locator("main").getByText(expected.broken.slice(0, -1), { exact: true }).first()
    .click();
  if (!(await page.locator("h1.cause").count()))
    await page.locator("main .case-link", { hasText: expected.broken }).first().click();
  await page.waitForSelector("h1.cause");
  assert.match(await page.locator(".case-id").innerText(), new RegExp(`^${expected.broken}`));
  assert.match((await text(page)).slice(0, 200), /last key/);
  assert.deepEqual(wrong, []);
  await close();
});

test("a slower case stands on the first screen, and leads there in two clicks", async () => {
  assert.ok(expected.slower.length > 0, "a slowdown was planted");
  const { page, close } = await opened();
  const slower = page.locator(".news-slower").first();
  const box = await slower.boundingBox();
  assert.ok(box.y + box.height <= 720, "without scrolling");
  await slower.click();
  if (!(await page.locator("h1.cause").count()))
    await page.locator("main .case-link").first().click();
  await page.waitForSelector("h1.cause");
  assert.ok(expected.slower.includes((await page.locator(".case-id").innerText()).trim()));
  assert.match(await text(page), /times slower than its usual/);
  await close();
});

for (const { case: id, expected: cause } of expected.causes)
  test(`the cause of ${id.split("/")[1]} stands first`, async () => {
    const { page, wrong, close } = await opened({
      hash: `#panel=case&case=${encodeURIComponent(id)}` });
    await page.waitForSelector("h1.cause");
    const first = (await text(page)).slice(0, 200);
    assert.ok(holds(first, cause), `${first}\nlacks\n${cause}`);
    assert.deepEqual(wrong, []);
    await close();
  });

const id_of = (row) => {
  const column = report.cases.find(({ name }) => name === "case_id");
  return column.words[column.places[row]];
};
const case_of = (id) => `#panel=case&case=${encodeURIComponent(id)}`;

test("a case says which heads are wrong, and whether it is rounding", async () => {
  const broken = report.details.find(({ reproduce }) => reproduce.includes("cpu/split_kv"));
  const { page, close } = await opened({ hash: case_of(id_of(broken.row)) });
  const whole = await text(page);
  assert.match(whole, /All 4 heads are wrong; worst: head \d \([\d.]+ sigma\) and \d \(/);
  assert.match(whole, /No: \d+ of [\d,]+ errors lie beyond .4\.9 sigma, where [\d.e-]+ are expected/);
  assert.match(whole, /^cpu\/split_kv: /, "whose it is comes first");
  assert.equal(await page.locator("main .legend", { hasText: "fails" }).count(), 1, "legend once");
  await go(page, case_of(expected.causes[0].case));
  assert.match(await text(page), /Heads 1 and 4 of 6 are wrong in all 3 samples; worst: head/);
  const near = report.details.find(({ picture, findings }) =>
    picture?.outside === 0 && findings.length === 0);
  await go(page, case_of(id_of(near.row)));
  assert.match(await text(page), /Yes: the histogram keeps to the curve/);
  await close();
});

test("a head over its limit is red, and the worse the more it stands out", async () => {
  for (const scheme of ["light", "dark"]) {
    const { page, close } = await opened({ scheme, hash: case_of(expected.causes[0].case) });
    const [over, far, huge, around] = await page.evaluate(() =>
      [".step-over", ".step-far", ".step-huge", ".card"].map((name) => {
        const painted = new OffscreenCanvas(1, 1).getContext("2d");
        painted.fillStyle = getComputedStyle(document.querySelector(`main ${name}`)).backgroundColor;
        painted.fillRect(0, 0, 1, 1);
        return [...painted.getImageData(0, 0, 1, 1).data];
      }));
    for (const [red, green, blue] of [over, far, huge])
      assert.ok(red > 1.3 * green && red > 1.3 * blue, `${red} ${green} ${blue}, ${scheme}`);
    const bright = ([red, green, blue]) => 0.2126 * (red / 255) ** 2.2 +
      0.7152 * (green / 255) ** 2.2 + 0.0722 * (blue / 255) ** 2.2;
    const contrasts = [over, far, huge].map((step) => {
      const [low, high] = [bright(step), bright(around)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    });
    assert.deepEqual(contrasts, [...contrasts].sort((a, b) => a - b), scheme);
    await close();
  }
});

test("a slower case is told of by its time", async () => {
  const { page, close } = await opened({ hash: case_of(expected.slower[0]) });
  assert.match(await page.locator(".verdict-line").first().innerText(),
    /^. slower: [\d.]+ times its usual time; .*its error is fine, at \d+ % of the limit/);
  assert.equal(await page.locator(".verdict-line .mark-failure").count(), 0);
  const titles = await page.locator("main .card > h2").allInnerTexts();
  assert.equal(titles[0], "Over the nights");
  assert.match(await page.locator("main figure svg").first().innerHTML(), /time \/ sentinel/);
  assert.match(await page.locator("abbr").first().getAttribute("title"), /fixed piece of work/);
  await close();
});

test("the news say since when, and what is new", async () => {
  for (const width of [360, 1280]) {
    const { page, close } = await opened({ width });
    const items = page.locator(".news-where");
    assert.match(await items.first().innerText(), /^still\s*since night 2027-01-05 . 4 cases/);
    assert.match(await items.nth(1).innerText(), /^new\s*since night 2027-01-06 . 1 case/);
    assert.match(await text(page), /no commit recorded/);
    await close();
  }
});

test("what is beyond 9999 % is a factor, which ranks", async () => {
  const { page, close } = await opened({ hash: "#panel=cases&sort=percent_of_limit&order=descending" });
  assert.doesNotMatch(await text(page), /9999 %/);
  const shown = (await page.locator("main tbody td:nth-child(3)").allInnerTexts())
    .map((cell) => cell.trim());
  const factors = shown.filter((cell) => /x$/.test(cell)).map((cell) => Number(cell.slice(0, -1)));
  assert.ok(new Set(factors).size > 5, shown.join(" "));
  assert.deepEqual(factors, [...factors].sort((a, b) => b - a));
  await close();
});

test("on a phone the matrix shows a failure beside its kernels, and no number breaks", async () => {
  const { page, close } = await opened({ width: 360, height: 740, hash: "#panel=matrix" });
  await page.waitForTimeout(100);
  const [head, cell] = await page.evaluate(() => ["th", "td.cell-failure"].map((name) => {
    const cells = [...document.querySelectorAll(`main .grid tbody ${name}`)];
    const { left, right } = cells.sort((a, b) => a.cellIndex - b.cellIndex)[0]
      .getBoundingClientRect();
    return { left, right };
  }));
  assert.ok(head.left >= 0 && head.right <= cell.left + 1 && cell.right <= 352,
    JSON.stringify({ head, cell }));
  const broken = report.details.find(({ reproduce }) => reproduce.includes("cpu/split_kv"));
  await go(page, case_of(id_of(broken.row)));
  const high = await page.evaluate(() => [...document.querySelectorAll("main td.brief")]
    .filter((one) => one.clientHeight > 40 && one.parentElement.cells[0].clientHeight < 30)
    .map(({ innerText }) => innerText));
  assert.deepEqual(high, []);
  await close();
});

test("filters, links, back and reload keep the state in the URL", async () => {
  const { page, close } = await opened({ hash: "#panel=cases&f.dtype=fp16" });
  const shown = async () => (await page.locator("main .data-table tbody tr").count());
  const fp16 = await shown();
  assert.ok(fp16 > 0 && fp16 < report.rows, `${fp16} of ${report.rows}`);
  await page.reload();
  await page.waitForSelector("h1");
  assert.equal(await shown(), fp16, "reload");
  await page.locator("main .data-table .value").first().click();
  assert.ok((await shown()) <= fp16, "a click on a value filters by it");
  assert.notEqual(page.url().split("f.").length, 2, "two filters now");
  await page.goBack();
  await page.waitForTimeout(60);
  assert.equal(await shown(), fp16, "back");
  await close();
});

test("the keyboard alone reaches everything", async () => {
  const { page, close } = await opened();
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await page.keyboard.type("drop_nothing_of_this_name");
  await page.waitForTimeout(100);
  assert.equal(await page.locator("main .data-table tbody .case-link").count(), 0);
  await page.keyboard.press("Escape");
  await go(page, `#panel=case${lead}`);
  const first = await page.locator(".case-id").innerText();
  await page.keyboard.press("j");
  await page.waitForTimeout(100);
  const second = await page.locator(".case-id").innerText();
  assert.notEqual(second, first, "j is the next case that is not fine");
  await page.keyboard.press("k");
  await page.waitForTimeout(100);
  assert.equal(await page.locator(".case-id").innerText(), first, "k goes back");
  await go(page, "#panel=matrix");
  await page.locator("main .grid td a, main .grid td button").first().focus();
  const where = () => page.evaluate(() =>
    JSON.stringify(document.activeElement.getBoundingClientRect()));
  const at = await where();
  await page.keyboard.press("ArrowLeft");
  assert.notEqual(await where(), at, "arrow keys move in the matrix");
  await page.keyboard.press("ArrowRight");
  assert.equal(await where(), at, "and back");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(100);
  assert.ok(!page.url().includes("panel=matrix"), "Enter opens the cell");
  await close();
});

test("every picture has a table", async () => {
  const { page, close } = await opened();
  for (const panel of panels) {
    await go(page, `#panel=${panel}${lead}`);
    const lacking = await page.evaluate(() =>
      [...document.querySelectorAll("main figure")].filter((figure) =>
        figure.querySelector("svg, .map") !== null && figure.querySelector("table") === null &&
        !/table/i.test(figure.innerText)).map((figure) => figure.innerText.slice(0, 80)));
    assert.deepEqual(lacking, [], panel);
  }
  await close();
});

test("the copied line repeats the failure", async () => {
  const broken = report.details.find(({ reproduce }) => reproduce.includes("cpu/split_kv"));
  const { page, close } = await opened({ hash: case_of(id_of(broken.row)) });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: /copy/i }).first().click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, broken.reproduce);
  const path = `${dirname(PLUMBLINE)}:${process.env.PATH}`;
  const done = spawnSync("bash", ["-c", `${copied} -q --no-store`], {
    cwd: PAGE_NIGHT,
    encoding: "utf8",
    env: { ...process.env, PATH: path, PLANTED_OPTIONS: "drop_last_key=1,only=cpu/split_kv" },
  });
  assert.equal(done.status, 1, done.stdout + done.stderr);
  assert.match(done.stdout, /last key/);
  await close();
});

for (const scheme of ["light", "dark"])
  test(`axe-core finds nothing serious, and no panel complains, ${scheme}`, async () => {
    const { page, wrong, close } = await opened({ scheme });
    for (const panel of panels) {
      await go(page, `#panel=${panel}${lead}`);
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run(document)).violations
        .filter(({ impact }) => ["serious", "critical"].includes(impact))
        .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`));
      assert.deepEqual([...wrong, ...found], [], panel);
    }
    await close();
  });

for (const [width, height] of [[360, 740], [1280, 720], [1920, 1080]])
  test(`no panel is wider than ${width} pixels`, async () => {
    for (const scheme of ["light", "dark"]) {
      const { page, close } = await opened({ width, height, scheme });
      for (const panel of panels) {
        await go(page, `#panel=${panel}${lead}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        await page.screenshot({ path: join(PAGE_SHOTS, `${panel}_${width}_${scheme}.png`),
                                fullPage: panel !== "overview" });
        assert.ok(over <= 0, `${panel} is ${over} pixels too wide`);
      }
      await close();
    }
  });

test("a run of refused cases shows that nothing was measured", async () => {
  const { page, wrong, close } = await opened({ file: "refused.html" });
  const whole = await text(page);
  assert.match(whole.slice(0, 100), /Nothing was measured\. This run says nothing about/);
  assert.match(await page.locator(".brand").innerText(), /nothing measured/);
  assert.doesNotMatch(whole, /\bFine:/);
  assert.equal(await page.locator("main td.cell-fine").count(), 0);
  assert.deepEqual(wrong, []);
  await close();
});

test("no text becomes HTML, however long it is", async () => {
  const elements = (page) => page.evaluate(() =>
    document.querySelectorAll("script, img, iframe, object, embed").length);
  const night = await opened();
  const usual = await elements(night.page);
  await night.close();
  const { page, wrong, close } = await opened({ file: "hostile.html" });
  const case_id = await page.evaluate(() => {
    const link = document.querySelector(".news").getAttribute("href");
    return /case=[^&]*/.exec(link)?.[0] ?? "";
  });
  for (const panel of panels) {
    await go(page, `#panel=${panel}&${case_id}`);
    assert.equal(await elements(page), usual, panel);
    assert.ok((await text(page)).length < 400_000, "the long reason is clipped");
  }
  await go(page, `#panel=case&${case_id}`);
  assert.ok((await text(page)).includes("<script>document.title='run'</script>"), "it is text");
  assert.doesNotMatch(await page.title(), /^run$/);
  assert.deepEqual(wrong, []);
  await close();
});

test("printing shows all panels", async () => {
  const { page, close } = await opened();
  await page.emulateMedia({ media: "print" });
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000, `${pdf.length} bytes`);
  await close();
});
