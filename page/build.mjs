// Bundles src/ into one HTML file, the template that plumbline fills with a report.
//
//   node build.mjs [OUTPUT]      default: dist/page.html
//
// The template needs no other file. plumbline replaces @PLUMBLINE_DATA@, which occurs once, by
// base64 of gzip of the report's JSON.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2] ?? join(folder, "dist/page.html"));
const placeholder = "@PLUMBLINE_DATA@";
const most_bytes = 700_000;

function fail(text) {
  console.error(`build.mjs: ${text}`);
  process.exit(1);
}

async function bundled() {
  const result = await build({
    absWorkingDir: folder,
    entryPoints: ["src/main.ts", "src/style.css"],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii", // makes the hash below independent of the encoding
    legalComments: "none", // the licenses are at the end of the template
    metafile: true,
    write: false,
    outdir: "dist",
  });
  const text = (ending) =>
    result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
  return { script: text(".js"), style: text(".css"), inputs: Object.keys(result.metafile.inputs) };
}

// Keeps "</script" and "<!--" from ending the element early. Both occur only in strings and regular
// expressions, where a backslash changes nothing.
function embeddable(script) {
  const text = script.replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
  if (/<\/script|<!--/i.test(text)) fail("the script holds what ends its element");
  return text;
}

// Returns the licenses of the bundled packages: each text once, after the names of its packages.
function licenses(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const holders = new Map();
  for (const path of [...packages].sort()) {
    const { name, version } = JSON.parse(readFileSync(join(folder, path, "package.json"), "utf8"));
    const file = readdirSync(join(folder, path)).find((entry) => /^licen[sc]e/i.test(entry));
    const text = file ? readFileSync(join(folder, path, file), "utf8") : "";
    const copyright = text.split("\n").filter((line) => /^copyright/i.test(line)).join("; ");
    const body = text.split("\n").filter((line) => !/^copyright/i.test(line)).join("\n");
    const key = body.replace(/\s+/g, " ").trim();
    if (!holders.has(key)) holders.set(key, { body: body.trim(), of: [] });
    holders.get(key).of.push(`${name} ${version} ${copyright}`.trim());
  }
  return [...holders.values()]
    .map(({ body, of }) => `${of.join("\n")}\n\n${body}`)
    .join("\n\n")
    .replace(/--+/g, "-");
}

function page({ script, style, inputs }) {
  const code = embeddable(script);
  if (/<\/style/i.test(style)) fail("the style holds what ends its element");
  const hash = createHash("sha256").update(code, "utf8").digest("base64");
  // Plot writes style elements and attributes into its charts, whose hashes are not known here.
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>plumbline report</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript><p>This page draws a report of plumbline and needs JavaScript. The same report as text:
plumbline show latest</p></noscript>
<script type="application/octet-stream" id="report-data">${placeholder}</script>
<script>${code}</script>
<!--
${licenses(inputs)}
-->
</body>
</html>
`;
}

if (!existsSync(join(folder, "node_modules"))) fail("no node_modules; remedy: npm ci");
const html = page(await bundled());
if (html.split(placeholder).length !== 2) fail(`${placeholder} has to occur exactly once`);
const bytes = Buffer.byteLength(html);
if (bytes > most_bytes) fail(`the template has ${bytes} bytes, more than ${most_bytes}`);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, html);
console.log(`${output}: ${bytes} bytes`);
