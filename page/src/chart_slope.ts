// A chart of case pairs: a line from A to B that rises if B is worse.
import * as Plot from "@observablehq/plot";
import { short } from "./dom.ts";

export interface Slope {
  problem: string;
  a: number;
  b: number;
  said: string;
}

const most = 400; // lines drawn at most, by decreasing change
const marked = 1.05; // a smaller ratio of A and B counts as no change

export interface SlopeOptions {
  slopes: readonly Slope[];
  label_a: string;
  label_b: string;
  unit: string;
  format: (value: number) => string;
  width: number;
}

function kind_of({ a, b }: Slope): "worse" | "better" | "same" {
  return b > a * marked ? "worse" : a > b * marked ? "better" : "same";
}

function change_of({ a, b }: Slope): number {
  return Math.abs(Math.log(Math.max(b, 1e-12) / Math.max(a, 1e-12)));
}

export function slope_chart(options: SlopeOptions): { drawing: Element; drawn: number } {
  const { format, width } = options;
  const slopes = [...options.slopes].sort((x, y) => change_of(y) - change_of(x)).slice(0, most);
  const values = slopes.flatMap(({ a, b }) => [a, b]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const is_log = low > 0 && high / low > 20;
  const lines = (kind: ReturnType<typeof kind_of>, style: Plot.LinkOptions) =>
    Plot.link(slopes.filter((slope) => kind_of(slope) === kind),
              { x1: () => 0, x2: () => 1, y1: "a", y2: "b", title: "said", ...style });
  const ends = slopes.filter((slope) => kind_of(slope) !== "same").slice(0, 6);
  const drawing = Plot.plot({
    width,
    height: 340,
    marginLeft: 60,
    marginRight: Math.min(230, width * 0.4),
    marginTop: 34,
    x: { domain: [-0.04, 1.04], ticks: [0, 1], label: null, axis: "top",
         tickFormat: (tick: number) =>
           tick === 0 ? `A: ${short(options.label_a, 24)}` : `B: ${short(options.label_b, 24)}` },
    y: { type: is_log ? "log" : "linear", label: `\u2191 ${options.unit}${is_log ? " (log)" : ""}`,
         grid: true, nice: !is_log, zero: !is_log, tickFormat: (tick: number) => format(tick),
         ticks: 6 },
    marks: [
      lines("same", { stroke: "var(--muted)", strokeOpacity: 0.35 }),
      lines("better", { stroke: "var(--blue)", strokeOpacity: 0.75 }),
      lines("worse", { stroke: "var(--red)", strokeWidth: 1.75, strokeDasharray: "6 2" }),
      Plot.dot(slopes, { x: () => 0, y: "a", r: 2, fill: "var(--ink)" }),
      Plot.dot(slopes, { x: () => 1, y: "b", r: 2, fill: "var(--ink)", title: "said", tip: true }),
      Plot.text(ends, { x: () => 1, y: "b", dx: 7, textAnchor: "start", fontSize: 10,
                        text: ({ problem }: Slope) => short(problem, Math.floor(width / 26)),
                        stroke: "var(--surface)", fill: "var(--ink)" }),
    ],
  });
  return { drawing, drawn: slopes.length };
}
