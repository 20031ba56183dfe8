// Compares A with B case by case: two kernels, architectures, machines or reports.
import { pareto_chart, pareto_front, type Candidate } from "./chart_pareto.ts";
import { slope_chart, type Slope } from "./chart_slope.ts";
import { data_table, plain_table } from "./data_table.ts";
import { dimensions_of, label_of, title_of } from "./dimensions.ts";
import { empty, h, hidden, short, type Child } from "./dom.ts";
import { figure } from "./figure.ts";
import { change, duration, mark, number, percent, plural } from "./format.ts";
import { half_width, is_wide, type Page } from "./page.ts";
import { pairs_of, type Pair, type Pairs, type Side } from "./pairs.ts";
import { choice, section } from "./parts.ts";

interface Measure {
  name: string; // the column's name
  title: string;
  unit: string;
  format: (value: number | null) => string;
}
const measures: readonly Measure[] = [
  { name: "percent_of_limit", title: "% of the limit", unit: "% of the limit", format: percent },
  { name: "rms", title: "rms of the error", unit: "rms, sigma", format: number },
  { name: "time_ns", title: "time of a call", unit: "time of a call", format: duration },
];

interface Chosen {
  dimension: string;
  values: string[]; // the choices
  a: string;
  b: string;
  side_a: Side;
  side_b: Side;
  pairs: Pairs;
}

const not_compared = ["outlook", "verdict", "cause", "status", "nearest_statistic", "case_group"];

function sides(page: Page): { name: string; title: string }[] {
  const { cases, other } = page.model;
  const of_cases = dimensions_of(cases).filter(({ name }) =>
    !not_compared.includes(name) && cases.values(name).length > 1);
  const reports = { name: "report", title: "this report and the other" };
  return other === null ? of_cases : [reports, ...of_cases];
}

function choose(page: Page, dimension: string): Chosen {
  const { cases, other, report } = page.model;
  const { a, b } = page.state;
  if (dimension === "report" && other !== null) {
    const [side_a, side_b] = [cases, other].map((table) => ({ table, rows: table.all() }));
    return { dimension, values: [], a: report.subject.label, b: report.other?.label ?? "", side_a,
             side_b, pairs: pairs_of(dimension, side_a, side_b) };
  }
  const counts = cases.counts(dimension, cases.all());
  const values = cases.values(dimension);
  const by_size = [...values].sort((x, y) => (counts.get(y) ?? 0) - (counts.get(x) ?? 0));
  const side = (value: string): Side => ({
    table: cases,
    rows: cases.all().filter((row) => cases.text(dimension, row) === value),
  });
  const first = values.includes(a) ? a : by_size.find((value) => value !== b) ?? "";
  const side_a = side(first);
  // Without a choice, B is the first value that has cases in common with A.
  const others = values.includes(b) && b !== first ? [b]
    : by_size.filter((value) => value !== first).slice(0, 12);
  let second = others[0] ?? "";
  let side_b = side(second);
  let pairs = pairs_of(dimension, side_a, side_b);
  for (const value of others.slice(1)) {
    if (pairs.pairs.length > 0) break;
    second = value;
    side_b = side(value);
    pairs = pairs_of(dimension, side_a, side_b);
  }
  return { dimension, values, a: first, b: second, side_a, side_b, pairs };
}

function ratio_of(chosen: Chosen, pair: Pair, column: string): number | null {
  const a = chosen.side_a.table.number(column, pair.a);
  const b = chosen.side_b.table.number(column, pair.b);
  return a === null || b === null || !(a > 0) || !(b > 0) ? null : b / a;
}

function in_words(chosen: Chosen, measure: Measure): string {
  const { pairs, ignored, only_a, only_b } = chosen.pairs;
  const ratios = pairs.map((pair) => ratio_of(chosen, pair, measure.name))
    .filter((ratio) => ratio !== null).sort((x, y) => x - y);
  const besides = ignored.length > 0 ? ` (${ignored.join(", ")} may differ, too)` : "";
  const by = chosen.dimension === "report" ? "their case ids"
    : `all but the ${title_of(chosen.dimension)}`;
  let text = `${plural(pairs.length, "pair")}, matched by ${by}${besides}. ${only_a} of A and ` +
    `${only_b} of B have no partner.`;
  if (ratios.length > 0) {
    const less = ratios.filter((ratio) => ratio < 1 / 1.05).length;
    const more = ratios.filter((ratio) => ratio > 1.05).length;
    const median = ratios[Math.floor(ratios.length / 2)];
    text += ` B has a lower ${measure.title} in ${less}, a higher one in ${more}, and the same ` +
      `within 5 % in ${ratios.length - less - more}; the median of B / A is ${number(median)}.`;
  }
  return text;
}

function slopes(chosen: Chosen, measure: Measure, width: number): HTMLElement {
  const list: Slope[] = [];
  for (const pair of chosen.pairs.pairs) {
    const a = chosen.side_a.table.number(measure.name, pair.a);
    const b = chosen.side_b.table.number(measure.name, pair.b);
    if (a === null || b === null) continue;
    list.push({ problem: pair.problem, a, b, said: `${short(pair.problem, 160)}\n` +
      `A ${measure.format(a)}, B ${measure.format(b)} (${change(a > 0 ? b / a - 1 : null)})` });
  }
  if (list.length === 0)
    return empty(`No pair has ${measure.title} on both sides, so there is nothing to draw. ` +
      "This suite measures times:", "plumbline run cases/timed.toml");
  const { drawing, drawn } = slope_chart({ slopes: list, label_a: label_of(chosen.a),
    label_b: label_of(chosen.b), unit: measure.unit, format: measure.format, width });
  return figure({
    title: `${measure.title}, from A to B`,
    label: in_words(chosen, measure),
    drawings: [drawing],
    text: "A line is a case; up is worse. Red and dashed: B is over 5 % above A. Blue: below. " +
      "Grey: the same." + (drawn < list.length ? ` The ${drawn} that change most are drawn.` : ""),
    table: () => pairs_table(chosen),
  });
}

function candidates(chosen: Chosen): Candidate[] {
  return chosen.pairs.pairs.flatMap((pair) => {
    const of = (side: Candidate["side"], { table }: Side, row: number): Candidate[] => {
      const [rms, time_ns] = [table.number("rms", row), table.number("time_ns", row)];
      return rms === null || time_ns === null || !(time_ns > 0)
        ? [] : [{ side, name: table.text("case_id", row), rms, time_ns }];
    };
    return [...of("A", chosen.side_a, pair.a), ...of("B", chosen.side_b, pair.b)];
  });
}

function pareto(chosen: Chosen, width: number): HTMLElement {
  const list = candidates(chosen);
  if (list.length === 0)
    return empty("None of these cases was timed, so error and time cannot be set against each " +
      "other. This suite measures times:", "plumbline run cases/timed.toml");
  const front = pareto_front(list);
  return figure({
    title: "Error against time",
    label: `rms of the error against the time of a call of ${list.length} cases; ${front.length} ` +
      "of them are beaten by no other in both",
    drawings: [pareto_chart(list, front, width)],
    text: "Circles: A. Triangles: B. Down and left is better. The dotted steps join the cases " +
      "that no other beats in both. The chart mixes cases of different sizes.",
    table: () => plain_table("Cases that no other beats in both",
      ["case", "side", "rms (sigma)", "time of a call"],
      front.map(({ name, side, rms, time_ns }) =>
        [short(name), side, number(rms), duration(time_ns)])),
  });
}

function pairs_table(chosen: Chosen): HTMLElement {
  const { side_a, side_b, pairs } = chosen;
  const sides = { a: side_a.table, b: side_b.table };
  const both = (name: string, title: string, format: (value: number | null) => string) =>
    (["a", "b"] as const).map((side) => ({
      name: `${name}_${side}`, title: `${title} ${side.toUpperCase()}`, format,
      key: (pair: Pair) => sides[side].number(name, pair[side]) }));
  const verdicts = (["a", "b"] as const).map((side) => ({
    name: `verdict_${side}`, title: `verdict ${side.toUpperCase()}`,
    key: (pair: Pair) => sides[side].text("verdict", pair[side]),
    show: (pair: Pair) =>
      mark(sides[side].outlook(pair[side]), sides[side].text("verdict", pair[side])) }));
  return data_table<Pair>({
    label: "Pairs of A and B",
    noun: "pair",
    rows: pairs.pairs,
    columns: [
      { name: "problem", title: "case", show: ({ problem }) => short(problem, 120) },
      ...verdicts,
      ...both("percent_of_limit", "% of limit", percent),
      ...both("rms", "rms (sigma)", number),
      ...both("time_ns", "time", duration),
      { name: "ratio", title: "time B / A", key: (pair) => ratio_of(chosen, pair, "time_ns"),
        format: number },
    ],
  });
}

export function compare_panel(page: Page): Child {
  const { state } = page;
  const title = h("h1", { tabindex: -1 }, "A and B");
  const list = sides(page);
  if (list.length === 0)
    return [title, empty("All cases have one kernel, architecture and machine, and no other run " +
      "was named, so there is nothing to compare here. This command compares two runs:",
      "plumbline compare latest~1 latest")];
  const is_known = list.some(({ name }) => name === state.dimension);
  const dimension = is_known ? state.dimension : list[0].name;
  const chosen = choose(page, dimension);
  const measure = measures.find(({ name }) => name === state.measure) ?? measures[0];
  const values = chosen.values.map((value) => [value, label_of(value)] as const);
  const names = list.map(({ name, title }) => [name, title] as const);
  const swapped = page.link({ dimension, a: chosen.b, b: chosen.a });
  return [
    title,
    h("div", { class: "filter-bar" },
      choice("Compare by", names, dimension, (name) => page.go({ dimension: name, a: "", b: "" })),
      values.length === 0
        ? h("p", null, `A: ${short(chosen.a, 80)} \u00b7 B: ${short(chosen.b, 80)}`)
        : [choice("A", values, chosen.a, (a) => page.go({ dimension, a, b: chosen.b })),
           choice("B", values, chosen.b, (b) => page.go({ dimension, a: chosen.a, b })),
           h("a", { class: "chip", href: swapped }, "swap")],
      choice("Measure", measures.map(({ name, title }) => [name, title] as const), measure.name,
        (name) => page.go({ measure: name }))),
    chosen.pairs.pairs.length === 0
      ? empty("A and B have no problem in common, so no pair can be made. Choose other values, " +
          "or run both on one suite.")
      : [h("p", { role: "status" }, in_words(chosen, measure)),
         h("div", { class: is_wide() ? "two-columns" : null },
           section("Case by case", slopes(chosen, measure, half_width())),
           section("Pareto", hidden("error and time"), pareto(chosen, half_width()))),
         section("All pairs", pairs_table(chosen))],
  ];
}
