// A chart of time against error, with the Pareto front.
import * as Plot from "@observablehq/plot";
import { short } from "./dom.ts";
import { duration } from "./format.ts";

export interface Candidate {
  side: "A" | "B";
  name: string;
  rms: number; // in units of sigma
  time_ns: number;
}

// Returns the Pareto front, sorted by error: the candidates for which no other is at least as good
// in both values and better in one.
export function pareto_front(candidates: readonly Candidate[]): Candidate[] {
  const front: Candidate[] = [];
  const by_error = [...candidates].sort((x, y) => x.rms - y.rms || x.time_ns - y.time_ns);
  for (const one of by_error)
    if (front.length === 0 || one.time_ns < front[front.length - 1].time_ns) front.push(one);
  return front;
}

export function pareto_chart(candidates: readonly Candidate[], front: readonly Candidate[],
                             width: number): Element {
  const of = (side: Candidate["side"]) => candidates.filter((one) => one.side === side);
  const times = candidates.map(({ time_ns }) => time_ns);
  const is_log = Math.max(...times) > 10 * Math.min(...times);
  const title = (one: Candidate) =>
    `${one.side}: ${short(one.name, 160)}\nrms ${one.rms.toPrecision(3)} sigma, ` +
    duration(one.time_ns);
  const shared = { x: "rms", y: "time_ns", title, tip: true };
  return Plot.plot({
    width,
    height: 340,
    marginLeft: 70,
    x: { label: "rms of the error, in sigma \u2192", zero: true, nice: true, grid: true },
    y: { label: `\u2191 time of a call${is_log ? " (log)" : ""}`, type: is_log ? "log" : "linear",
         zero: !is_log, grid: true, ticks: 6, tickFormat: (tick: number) => duration(tick) },
    marks: [
      Plot.line(front, { x: "rms", y: "time_ns", curve: "step-after", stroke: "var(--ink)",
                         strokeDasharray: "2 3" }),
      Plot.dot(of("A"), { ...shared, r: 4, fill: "var(--blue)", fillOpacity: 0.75 }),
      Plot.dot(of("B"), { ...shared, r: 5, symbol: "triangle", fill: "var(--orange)",
                          fillOpacity: 0.85 }),
    ],
  });
}
