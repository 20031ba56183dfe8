// Where the errors of one case lie: by head, by row and column, by the roundings that allow them.
import type { Detail } from "./data.ts";
import { h, hidden, scrolling, short } from "./dom.ts";
import { count, number, plural, share, tiny } from "./format.ts";
import { as_table } from "./figure.ts";
import { plain_table } from "./data_table.ts";

// How large an error is beside its limit, in five steps; the terminal shows the same ones.
function step_of(value: number | null, limit: number | undefined): string {
  if (value === null || limit === undefined || !(limit > 0)) return "plain";
  const part = value / limit;
  if (part <= 1) return part <= 0.5 ? "low" : "high";
  return part <= 10 ? "over" : part <= 100 ? "far" : "huge";
}

function steps_legend(limit: number | undefined, of: string): HTMLElement | null {
  if (limit === undefined) return null;
  const item = (name: string, text: string) =>
    h("li", null, h("span", { class: `swatch step-${name}`, "aria-hidden": "true" }), text);
  return h("ul", { class: "legend" },
    item("low", `up to half of the limit of ${number(limit)} ${of}`),
    item("high", "up to the limit"),
    item("over", "up to 10 times it"), item("far", "up to 100 times"), item("huge", "beyond"),
    item("nan", "N: no number"), item("absent", "nothing compared"));
}

const most_samples = 64;

function head_text(rms: number | null): string {
  if (rms === -1) return "nothing compared";
  return rms === null ? "no number" : number(rms);
}

export function head_strip({ heads, heads_per_sample, limits }: Detail): HTMLElement {
  const per_sample = Math.max(1, heads_per_sample);
  const samples = Math.ceil(heads.length / per_sample);
  const limit = limits["rms"];
  const shown = Math.min(samples, most_samples);
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
  const all_heads = Array.from({ length: per_sample }, (_, head) => head);
  const label = "rms of the error, in sigma, by sample and head";
  return h("figure", { class: "map" },
    h("figcaption", null, "rms by sample (down) and head (across), in sigma"),
    scrolling(label, h("table", { class: "picture" },
      h("caption", { class: "hidden" }, label),
      h("thead", null, h("tr", null, h("td", null), all_heads.map((head) =>
        h("th", { scope: "col" }, head)))),
      h("tbody", null, Array.from({ length: shown }, (_, sample) =>
        h("tr", null, h("th", { scope: "row" }, sample),
          all_heads.map((head) => cell(sample, head))))))),
    samples > shown && h("p", { class: "small-print" },
      `The first ${shown} of ${plural(samples, "sample")}; the table has all.`),
    steps_legend(limit, "sigma"),
    as_table(() => plain_table(label, ["sample", "head", "rms (sigma)"], heads.map((value, i) => [
      Math.floor(i / per_sample), i % per_sample, head_text(value)]))));
}

// Part i of n holds the rows r with floor(r n / rows) = i.
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
  const down = Array.from({ length: map_rows }, (_, i) => range(i, map_rows, rows));
  const across = Array.from({ length: map_columns }, (_, i) => range(i, map_columns, columns));
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
    scrolling(label, h("table", { class: "picture" },
      h("caption", { class: "hidden" }, label),
      h("thead", null, h("tr", null, h("td", null), across.map((text) =>
        h("th", { scope: "col" }, text)))),
      h("tbody", null, down.map((text, y) => h("tr", null, h("th", { scope: "row" }, text),
        across.map((_, x) => cell(y, x))))))),
    steps_legend(limit, "sigma"));
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
