// Pictures of one case's errors: by head, by row and column, and the shares of sigma.
import type { Detail } from "./data.ts";
import { h, hidden, scrolling, short, type Child } from "./dom.ts";
import { count, number, plural, share, tiny } from "./format.ts";
import { as_table } from "./figure.ts";
import { plain_table } from "./data_table.ts";

// Returns how an error compares with its limit, in the five steps of the terminal's map.
function step_of(value: number | null, limit: number | undefined): string {
  if (value === null || limit === undefined || !(limit > 0)) return "plain";
  const part = value / limit;
  if (part <= 1) return part <= 0.5 ? "low" : "high";
  return part <= 10 ? "over" : part <= 100 ? "far" : "huge";
}

// One legend for heads and map: their steps are equal, only the limits differ.
export function steps_legend({ heads, picture, limits }: Detail): HTMLElement | null {
  const of = [
    heads.length > 0 && limits["rms"] !== undefined &&
      `${number(limits["rms"])} sigma for an rms`,
    picture !== null && limits["peak"] !== undefined &&
      `${number(limits["peak"])} sigma for an |e|`,
  ].filter((text) => text !== false);
  if (of.length === 0) return null;
  const item = (name: string, text: string) =>
    h("li", null, h("span", { class: `swatch step-${name}`, "aria-hidden": "true" }), text);
  return h("ul", { class: "legend" },
    h("li", null, `The limit is ${of.join(", ")}:`),
    item("low", "up to half of it"), item("high", "up to it"),
    item("over", "fails: up to 10 times it"), item("far", "up to 100 times"),
    item("huge", "beyond"),
    item("nan", "N: no number"), item("absent", "nothing compared"));
}

const max_samples = 64;

function head_text(rms: number | null): string {
  if (rms === -1) return "nothing compared";
  return rms === null ? "no number" : number(rms);
}

// Lists the heads above the rms limit and names the worst two; "" if there is no limit or no head
// was compared.
export function heads_in_words({ heads, heads_per_sample, limits }: Detail): string {
  const limit = limits["rms"];
  const per_sample = Math.max(1, heads_per_sample);
  const all = places(Math.min(per_sample, heads.length)).map((head) => ({
    head, rms: Math.max(-1, ...heads.filter((_, i) => i % per_sample === head)
      .map((rms) => rms ?? Infinity)) })).filter(({ rms }) => rms >= 0);
  if (limit === undefined || all.length === 0) return "";
  const wrong = all.filter(({ rms }) => rms > limit);
  if (wrong.length === 0) return `No head is over the limit of the rms, ${number(limit)} sigma.`;
  const size = (rms: number) =>
    rms === Infinity ? "no number" : number(Number(rms.toPrecision(3)));
  const worst = [...wrong].sort((a, b) => Math.sign(b.rms - a.rms) || 0).slice(0, 2);
  const sizes = worst.map(({ head, rms }, i) =>
    `${head} (${size(rms)}${i === 0 && rms < Infinity ? " sigma" : ""})`).join(" and ");
  const names = wrong.slice(0, 8).map(({ head }) => String(head));
  const list = wrong.length > 8 ? `${names.join(", ")}, \u2026`
    : `${names.slice(0, -1).join(", ")}${names.length > 1 ? " and " : ""}${names.at(-1)}`;
  const of = all.length;
  const who = wrong.length === of
    ? (of === 1 ? "The only head is wrong" : `${of === 2 ? "Both" : `All ${of}`} heads are wrong`)
    : wrong.length === 1 ? `Head ${list} of ${of} is wrong`
    : wrong.length > 8 ? `${wrong.length} of ${of} heads are wrong (${list})`
    : `Heads ${list} of ${of} are wrong`;
  const samples = Math.ceil(heads.length / per_sample);
  const hit = new Set(heads.flatMap((rms, i) =>
    rms === null || rms > limit ? [Math.floor(i / per_sample)] : [])).size;
  const where = samples === 1 ? ""
    : ` in ${hit === samples ? "all" : `${hit} of`} ${samples} samples`;
  return `${who}${where}; worst: head ${sizes}.`;
}

// A table of the picture's cells, with headers for columns and rows.
function picture_table(label: string, across: readonly (readonly [head: Child, title?: string])[],
                       down: readonly Child[], cell: (y: number, x: number) => Child): HTMLElement {
  return scrolling(label, h("table", { class: "picture" },
    h("caption", { class: "hidden" }, label),
    h("thead", null, h("tr", null, h("td", null), across.map(([head, title]) =>
      h("th", { scope: "col", title }, head)))),
    h("tbody", null, down.map((head, y) => h("tr", null, h("th", { scope: "row" }, head),
      across.map((_, x) => cell(y, x)))))));
}

function places(count: number): number[] {
  return Array.from({ length: count }, (_, place) => place);
}

export function head_strip({ heads, heads_per_sample, limits }: Detail): HTMLElement {
  const per_sample = Math.max(1, heads_per_sample);
  const samples = Math.ceil(heads.length / per_sample);
  const limit = limits["rms"];
  const shown = Math.min(samples, max_samples);
  const cell = (sample: number, head: number) => {
    const value = heads[sample * per_sample + head];
    const where = `sample ${sample} head ${head}`;
    if (value === undefined || value === -1)
      return h("td", { class: "picture-cell step-absent", title: `${where}: nothing compared` });
    const name = value === null ? "nan" : step_of(value, limit);
    return h("td", { class: `picture-cell step-${name}`, title:
      value === null ? `${where}: no number` : `${where}: rms ${number(value)} sigma` },
      value === null ? "N" : tiny(value));
  };
  const label = "rms of the error, in sigma, by sample and head";
  return h("figure", { class: "map" },
    h("figcaption", null, "rms by sample (down) and head (across), in sigma"),
    picture_table(label, places(per_sample).map((head) => [head]), places(shown), cell),
    samples > shown && h("p", { class: "small-print" },
      `The first ${shown} of ${plural(samples, "sample")}; the table has all.`),
    as_table(() => plain_table(label, ["sample", "head", "rms (sigma)"], heads.map((value, i) => [
      Math.floor(i / per_sample), i % per_sample, head_text(value)]))));
}

// Part i of n has the rows r with floor(r n / rows) = i.
function first_of(part: number, parts: number, rows: number): number {
  return Math.ceil((part * rows) / parts);
}
function range(part: number, parts: number, rows: number): string {
  const [from, to] = [first_of(part, parts, rows), first_of(part + 1, parts, rows) - 1];
  return from >= to ? String(from) : `${from}\u2013${to}`;
}

export function error_map(picture: NonNullable<Detail["picture"]>,
                          limit: number | undefined): HTMLElement {
  const { map, map_rows, map_columns, rows, columns } = picture;
  const down = places(map_rows).map((i) => range(i, map_rows, rows));
  const across = places(map_columns).map((i) => range(i, map_columns, columns));
  const cell = (y: number, x: number) => {
    const value = map[y * map_columns + x] ?? null;
    const where = `rows ${down[y]}, columns ${across[x]}`;
    if (value === null)
      return h("td", { class: "picture-cell step-absent", title: `${where}: nothing compared` },
        hidden("nothing"));
    if (value < 0)
      return h("td", { class: "picture-cell step-nan", title: `${where}: no number` }, "N");
    return h("td", { class: `picture-cell step-${step_of(value, limit)}`,
      title: `${where}: |e| is ${number(value)} sigma at most` }, tiny(value));
  };
  const label = "largest error, in sigma, by row and column";
  return h("figure", { class: "map" },
    h("figcaption", null, "Largest |e| / sigma by row (down) and column (across), over all " +
      `samples and heads: ${plural(rows, "row")}, ${plural(columns, "column")}`),
    // The header of a column range has room only for its first column.
    picture_table(label, across.map((text) => [text.split("\u2013")[0], `columns ${text}`]),
      down, cell));
}

export function shares_bar(worst: NonNullable<Detail["worst"]>): HTMLElement {
  const { shares } = worst;
  const rest = Math.max(0, 1 - shares.reduce((sum, [, part]) => sum + part, 0));
  const parts: [string, number][] = rest > 0.005 ? [...shares, ["all others", rest]] : shares;
  const said = parts.map(([name, part]) => `${name} ${share(part)}`).join(", ");
  return h("figure", null,
    h("figcaption", null,
      `What the sigma of ${number(worst.sigma)} at the worst element is made of`),
    h("div", { class: "shares", role: "img", "aria-label": `Shares of sigma squared: ${said}` },
      parts.map(([name, part], i) => h("span", { class: `shares-part shares-${i % 7}`,
        style: { "flex-grow": String(part) }, title: `${name} ${share(part)}` },
        part >= 0.06 ? i + 1 : ""))),
    h("ol", { class: "legend numbered" }, parts.map(([name, part], i) =>
      h("li", null, h("span", { class: `swatch shares-${i % 7}`, "aria-hidden": "true" }, i + 1),
        `${short(name, 60)} ${share(part)}`))),
    h("p", { class: "small-print" },
      "Shares of sigma squared, by the rounding that the spec allows. ",
      worst.visible_keys > 0 && `The row sees ${count(worst.visible_keys)} keys.`));
}
