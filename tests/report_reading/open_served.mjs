// Opens a case of a served page in headless Chromium, and prints its content as JSON.
//   node open_served.mjs URL CASE ROW
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const page_folder = fileURLToPath(new URL("../../page/", import.meta.url));
const { chromium } = createRequire(page_folder)("playwright-core");
const [url, case_id, row] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox"],
});
const page = await browser.newPage();
const errors = [], elsewhere = [];
let asked = 0;
page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
page.on("pageerror", (error) => errors.push(String(error)));
page.on("request", (request) => {
  if (!request.url().startsWith(url) && !request.url().startsWith("data:"))
    elsewhere.push(request.url());
  if (request.url().includes("/api/case")) ++asked;
});
await page.goto(`${url}#panel=case&case=${encodeURIComponent(case_id)}&row=${row}`);
await page.getByRole("heading", { name: "Over the nights" }).waitFor({ timeout: 30_000 });
console.log(JSON.stringify({
  errors,
  elsewhere,
  asked,
  text: await page.locator("main").innerText(),
  pictures: await page.locator("main svg").count(),
}));
await browser.close();
