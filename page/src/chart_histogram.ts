// The error histogram of one output, with the curve expected from the declared roundings.
import * as Plot from "@observablehq/plot";
import type { Detail } from "./data.ts";
import { h } from "./dom.ts";
import { plain_table } from "./data_table.ts";
import { figure } from "./figure.ts";
import { count, number, plural } from "./format.ts";

type Picture = NonNullable<Detail["picture"]>;

interface Bin {
  center: number; // in units of sigma
  elements: number;
  expected: number;
  permitted: number;
  low: number;
  high: number;
  is_outside: boolean;
}

const width_of_bin = 0.25, middle = 20; // same as harness/outcome/error_picture.h

function bins_of(picture: Picture): Bin[] {
  return picture.histogram.map((elements, i) => ({
    center: (i - middle) * width_of_bin,
    elements,
    expected: picture.expected[i] ?? 0,
    permitted: picture.permitted[i] ?? 0,
    low: picture.low[i] ?? 0,
    high: picture.high[i] ?? 0,
    is_outside: elements < (picture.low[i] ?? 0) || elements > (picture.high[i] ?? Infinity),
  }));
}

function range_of(bin: Bin): string {
  if (bin.center <= -5) return "below \u22124.875";
  if (bin.center >= 5) return "above 4.875";
  const end = (value: number) => String(value).replace("-", "\u2212");
  return `${end(bin.center - width_of_bin / 2)} to ${end(bin.center + width_of_bin / 2)}`;
}

const edge = 4.9; // lower edge of the outermost bins, in sigma: 4.875 rounded

// Answers "is it rounding?" in one sentence, with the bins that deviate most from the curve.
export function rounding_answer(picture: Picture, is_fine: boolean): string {
  if (picture.outside === 0) return "Yes: the histogram keeps to the curve.";
  const bins = bins_of(picture);
  const all = count(bins.reduce((sum, { elements }) => sum + elements, 0));
  const told = (list: readonly Bin[], where: string) => {
    const sum = (of: (bin: Bin) => number) => list.reduce((total, bin) => total + of(bin), 0);
    const [found, expected] = [sum(({ elements }) => elements), sum((bin) => bin.expected)];
    const few = found < expected ? "only " : "";
    return `${is_fine ? "Not quite" : "No"}: ${few}${count(found)} of ${all} errors lie ${where} ` +
      `sigma, where ${number(Number(expected.toPrecision(2)))} are expected.`;
  };
  const tails = [bins[0], bins[bins.length - 1]].filter(({ elements, high }) => elements > high);
  if (tails.length > 0)
    return told(tails, "beyond " +
      (tails.length === 2 ? "\u00b1" : tails[0].center < 0 ? "\u2212" : "+") + edge);
  const surprise = ({ elements, expected }: Bin) =>
    Math.abs(elements - expected) / Math.sqrt(Math.max(1, expected));
  const worst = bins.filter(({ is_outside }) => is_outside)
    .reduce((a, b) => (surprise(b) > surprise(a) ? b : a));
  return told([worst], `from ${range_of(worst)}`);
}

function powers_of_ten(top: number): number[] {
  const ticks = [0];
  for (let tick = 1; tick <= top; tick *= 10) ticks.push(tick);
  return ticks;
}

// Returns true if the curve of the largest permitted errors differs visibly from the expected one.
function permits_more(bins: readonly Bin[]): boolean {
  return bins.some(({ expected, permitted }) =>
    Math.abs(permitted - expected) > 0.1 * Math.max(1, expected));
}

function drawing(bins: readonly Bin[], width: number): Element {
  const top = Math.max(1, ...bins.flatMap(({ elements, permitted, high }) =>
    [elements, permitted, high]));
  const bars = { x1: (bin: Bin) => bin.center - 0.11, x2: (bin: Bin) => bin.center + 0.11,
                 y1: () => 0, y2: "elements" };
  const title = (bin: Bin) =>
    `e / sigma ${range_of(bin)}\n${plural(bin.elements, "element")}\n` +
    `expected ${number(bin.expected)}, in 99 of 100 correct outputs ` +
    `${number(bin.low)} to ${number(bin.high)}`;
  return Plot.plot({
    width,
    height: 270,
    marginLeft: 56,
    x: {
      label: "error e, in sigma \u2192",
      domain: [-5.2, 5.2],
      ticks: width < 420 ? [-5, -2.5, 0, 2.5, 5] : [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5],
      tickFormat: (tick: number) => tick <= -5 ? "\u2264 \u22125" : tick >= 5 ? "\u2265 5"
        : String(tick).replace("-", "\u2212"),
    },
    y: {
      type: "symlog",
      constant: 1,
      label: "\u2191 elements (symlog)",
      domain: [0, top],
      ticks: powers_of_ten(top),
      tickFormat: (tick: number) => count(tick),
      grid: true,
    },
    marks: [
      Plot.areaY(bins, { x: "center", y1: "low", y2: "high", fill: "var(--band)" }),
      Plot.rect(bins.filter(({ is_outside }) => !is_outside),
                { ...bars, fill: "var(--bar)", title, tip: true }),
      Plot.rect(bins.filter(({ is_outside }) => is_outside),
                { ...bars, fill: "var(--red-bar)", title, tip: true }),
      permits_more(bins) ? Plot.lineY(bins, { x: "center", y: "permitted", stroke: "var(--muted)",
                                              strokeDasharray: "4 3" }) : null,
      Plot.lineY(bins, { x: "center", y: "expected", stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.text(bins.filter(({ is_outside }) => is_outside),
                { x: "center", y: (bin: Bin) => Math.max(bin.elements, 0), text: () => "\u2715",
                  dy: -7, fill: "var(--red)", stroke: "var(--surface)", fontSize: 11 }),
      Plot.ruleY([0]),
    ],
  });
}

export function histogram(picture: Picture, width: number): HTMLElement {
  const bins = bins_of(picture);
  const all = bins.reduce((sum, { elements }) => sum + elements, 0);
  const verdict = picture.outside === 0
    ? "All bins are within the band of 99 of 100 correct outputs."
    : `${picture.outside} of ${bins.length} bins are outside the band of 99 of 100 correct ` +
      "outputs; they are marked \u2715.";
  return figure({
    title: `How the errors of ${count(all)} elements are spread`,
    label: `Histogram of the errors in sigma of ${count(all)} elements. ${verdict}`,
    drawings: [drawing(bins, width)],
    text: [verdict, " ", h("span", { class: "key key-line" }, "Line"),
      ": expected from the declared roundings and this kernel's rms. ",
      h("span", { class: "key key-band" }, "Band"), ": where 99 of 100 correct outputs lie. ",
      permits_more(bins) && [h("span", { class: "key key-dashed" }, "Dashed"),
        ": errors as large as the spec permits. "],
      "The outermost bins also count all beyond them."],
    table: () => plain_table("Errors by bin",
      ["e / sigma", "elements", "expected", "band from", "band to", "permitted", "outside"],
      bins.map((bin) => [range_of(bin), count(bin.elements), number(bin.expected), number(bin.low),
        number(bin.high), number(bin.permitted), bin.is_outside ? "\u2715 outside" : "inside"])),
  });
}
