// Charts of one case over nights: its error with the limit, and its time with the level.
import * as Plot from "@observablehq/plot";
import type { Decision, Detail, Night, Outlook } from "./data.ts";
import { plain_table } from "./data_table.ts";
import { short } from "./dom.ts";
import { figure } from "./figure.ts";
import { change, commit, night_date, night_title, number, of_limit, percent, words }
  from "./format.ts";

export interface HistoryInput {
  case_id: string;
  history: Detail["history"];
  nights: readonly Night[];
  decisions: readonly Decision[];
  since_night: number; // first night of the issue; -1: unknown
  chosen: string; // the selected night's name
  is_about_time: boolean; // the issue is a timing finding; its chart comes first
}

interface Point {
  night: number;
  percent: number | null;
  rms: number | null;
  ratio: number | null;
  level: number | null;
  limit: number | null;
  floor: number | null; // as far below the level as the limit is above
  set_aside: boolean; // the time is excluded: the night or case was disturbed
  verdict: string;
  kind: Outlook;
}

function points_of({ history }: HistoryInput): Point[] {
  return history.night.map((night, i) => {
    const [level, limit] = [history.level[i] || null, history.limit[i] || null]; // 0: unknown
    return {
      night,
      percent: history.percent[i] ?? null,
      rms: history.rms[i] ?? null,
      ratio: history.ratio[i] ?? null,
      level,
      limit,
      floor: level !== null && limit !== null ? 2 * level - limit : null,
      set_aside: history.set_aside[i] ?? false,
      verdict: history.verdict[i] ?? "",
      kind: history.outlook[i] ?? "unmeasured",
    };
  });
}

function said(input: HistoryInput, point: Point): string {
  const night = input.nights[point.night];
  const lines = [
    night ? night_title(night) : "",
    `${words(point.verdict)}: ${of_limit(point.percent)}, ` +
      `rms ${number(point.rms)} sigma`,
  ];
  if (point.ratio !== null)
    lines.push(`time / sentinel's ${number(point.ratio)}${point.set_aside ? ", set aside" : ""}`);
  if (night?.commit) lines.push(`commit ${commit(night.commit)}`);
  if (night?.suspect) lines.push("the night is suspect");
  return lines.join("\n");
}

// An axis with the names of as many nights as fit.
export function night_axis(nights: readonly Night[], width: number, from: number) {
  const room = Math.max(2, Math.floor((width - 80) / 84));
  const step = Math.max(1, Math.ceil((nights.length - from) / room));
  const ticks: number[] = [];
  for (let night = nights.length - 1; night >= from; night -= step) ticks.unshift(night);
  return {
    label: null,
    domain: [from - 0.7, nights.length - 0.3],
    ticks,
    tickFormat: (night: number) => nights[night] ? short(night_date(nights[night]), 12) : "",
  };
}

// Marks of suspect nights and of the selected night.
export function marked_nights(nights: readonly Night[], name: string,
                              from: number): Plot.Markish[] {
  const suspect = nights.map((night, place) => ({ night, place }))
    .filter(({ night, place }) => night.suspect && place >= from);
  const chosen = nights.findIndex((night) => night.name === name);
  return [
    Plot.rect(suspect, { x1: ({ place }) => place - 0.5, x2: ({ place }) => place + 0.5,
                         fill: "var(--hatch)", fillOpacity: 0.55,
                         title: ({ night }) =>
                           `${night_title(night)} is suspect: ${short(night.why, 200)}` }),
    chosen >= from ? Plot.ruleX([chosen], { stroke: "var(--muted)", strokeWidth: 6,
                                            strokeOpacity: 0.35 }) : null,
  ];
}

// The background: marked nights, the start of the issue, and decisions.
function backdrop(input: HistoryInput, from: number): Plot.Markish[] {
  const decided = input.decisions.filter(({ night }) => night >= from);
  return [
    ...marked_nights(input.nights, input.chosen, from),
    input.since_night >= from
      ? Plot.ruleX([input.since_night - 0.5], { stroke: "var(--red)", strokeDasharray: "2 3" })
      : null,
    Plot.ruleX(decided, { x: "night", stroke: "var(--purple)", strokeDasharray: "6 3",
      title: ({ kind, who, why }: Decision) => `${kind} by ${who}: ${short(why, 200)}` }),
    Plot.text(decided, { x: "night", text: ({ kind }: Decision) => kind, frameAnchor: "top-right",
                         fill: "var(--purple)", textAnchor: "end", dx: -4, dy: 4,
                         stroke: "var(--surface)" }),
  ];
}

// A tick at each change of commit, with its name if there is room.
function commit_marks(nights: readonly Night[], width: number, from: number): Plot.Markish[] {
  const changes = nights.map(({ commit }, place) => ({ commit, place })).filter(
    ({ commit, place }) => place >= from && commit !== "" && commit !== nights[place - 1]?.commit);
  const pixels = (width - 80) / Math.max(1, nights.length - from);
  let last = -Infinity;
  const named = changes.filter(({ place }) => {
    if ((place - last) * pixels < 14) return false;
    last = place;
    return true;
  });
  const title = ({ commit, place }: { commit: string; place: number }) =>
    `${night_title(nights[place])}: commit ${short(commit, 60)}`;
  return [
    Plot.text(changes, { x: "place", text: () => "|", frameAnchor: "top", dy: -2, fontSize: 8,
                         title }),
    Plot.text(named, { x: "place", text: (one) => commit(one.commit), frameAnchor: "top", dy: -10,
                       rotate: -90, textAnchor: "start", fontSize: 9, fill: "var(--muted)",
                       title }),
  ];
}

function dots(input: HistoryInput, points: readonly Point[], y: (point: Point) => number | null) {
  const of = (kind: Point["kind"]) =>
    points.filter((point) => point.kind === kind && y(point) !== null);
  const shared = { x: "night", y, title: (point: Point) => said(input, point), tip: true };
  return [
    Plot.dot(of("fine"), { ...shared, r: 3, fill: "var(--blue)" }),
    Plot.dot(of("unmeasured"), { ...shared, r: 3, stroke: "var(--muted)" }),
    Plot.dot(of("open"), { ...shared, symbol: "triangle", r: 5, fill: "var(--orange)" }),
    Plot.dot(of("failure"), { ...shared, symbol: "times", r: 5, stroke: "var(--red)",
                              strokeWidth: 2.5 }),
  ];
}

function has_commits(nights: readonly Night[]): boolean {
  return nights.some(({ commit }) => commit !== "");
}

// Returns at most eight ticks, from 1 up.
function powers_of_ten(top: number): number[] {
  const powers = Math.floor(Math.log10(top)) + 1;
  const step = Math.ceil(powers / 8);
  return Array.from({ length: Math.ceil(powers / step) }, (_, i) => 10 ** (i * step));
}

function error_panel(input: HistoryInput, points: readonly Point[], width: number,
                     from: number): Element {
  const top = Math.max(110, ...points.map(({ percent }) => percent ?? 0));
  const is_log = top > 500;
  const y = ({ percent }: Point) =>
    percent === null ? null : is_log ? Math.max(1, percent) : percent;
  return Plot.plot({
    width,
    height: 230,
    marginLeft: 52,
    marginRight: 40,
    marginTop: has_commits(input.nights) ? 58 : 26,
    x: night_axis(input.nights, width, from),
    y: { label: `\u2191 % of the limit${is_log ? " (log)" : ""}`, grid: true,
         type: is_log ? "log" : "linear", domain: is_log ? [1, top * 1.2] : [0, top * 1.05],
         ...(is_log ? { ticks: powers_of_ten(top * 1.2), tickFormat: percent } : {}) },
    marks: [
      ...backdrop(input, from),
      Plot.ruleY([100], { stroke: "var(--red)", strokeWidth: 1.5 }),
      Plot.text([100], { y: (value) => value, text: () => "limit", frameAnchor: "right",
                         textAnchor: "start", dx: 5, fill: "var(--red)" }),
      Plot.lineY(points, { x: "night", y, stroke: "var(--blue)" }),
      ...dots(input, points, y),
      ...commit_marks(input.nights, width, from),
    ],
  });
}

function time_panel(input: HistoryInput, points: readonly Point[], width: number,
                    from: number): Element | null {
  const timed = points.filter(({ ratio }) => ratio !== null);
  if (timed.length === 0) return null;
  const values = timed.flatMap(({ ratio, level, limit, floor }) =>
    [ratio, level, limit, floor].filter((value) => value !== null));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max(0.05 * high, 0.08 * (high - low)); // makes noise look flat
  const changes = input.history.changes.map((place) => input.history.night[place] - 0.5);
  const known = timed.filter(({ level }) => level !== null);
  return Plot.plot({
    width,
    height: 200,
    marginLeft: 52,
    marginRight: 40,
    x: night_axis(input.nights, width, from),
    y: { label: "\u2191 time / sentinel's", grid: true, ticks: 5,
         domain: [Math.max(0, low - margin), high + margin] },
    marks: [
      ...backdrop(input, from),
      Plot.areaY(known.filter(({ limit }) => limit !== null),
                 { x: "night", y1: "floor", y2: "limit", fill: "var(--band)", curve: "step" }),
      Plot.lineY(known, { x: "night", y: "limit", stroke: "var(--red)", strokeDasharray: "5 3",
                          curve: "step" }),
      Plot.lineY(known, { x: "night", y: "level", stroke: "var(--ink)", strokeWidth: 2,
                          curve: "step" }),
      Plot.ruleX(changes, { stroke: "var(--orange)", strokeWidth: 2, strokeDasharray: "1 3" }),
      Plot.text(changes, { x: (value) => value, text: () => "level changes", frameAnchor: "bottom",
                           rotate: -90, textAnchor: "start", dy: -4, dx: -6, fill: "var(--orange)",
                           stroke: "var(--surface)" }),
      Plot.lineY(timed, { x: "night", y: "ratio", stroke: "var(--blue)", strokeOpacity: 0.6 }),
      ...dots(input, timed, ({ ratio }) => ratio),
      Plot.text(timed.filter(({ set_aside }) => set_aside),
                { x: "night", y: "ratio", text: () => "~", dy: -9, fontWeight: "bold" }),
    ],
  });
}

// Explains only those marks that the charts contain.
function legend(input: HistoryInput, points: readonly Point[], from: number): string {
  const nights = input.nights.slice(from);
  const has = (kind: Point["kind"]) => points.some((point) => point.kind === kind);
  const timed = points.filter(({ ratio }) => ratio !== null);
  const sentences = [
    has("fine") && "Circles are fine.",
    has("failure") && "Crosses fail.",
    has("open") && "Triangles are open.",
    has("unmeasured") && "Empty circles were not measured.",
    input.since_night >= from && "The red dotted line marks the start of the issue.",
    nights.some(({ suspect }) => suspect) &&
      "Shaded nights are suspect: their times were set aside.",
    has_commits(nights) ? "Ticks on top are changes of the commit." : "No commit recorded.",
    timed.length > 0 && "Times are ratios to those of the sentinel, a fixed piece of work " +
      "timed alternately with the kernel.",
    timed.some(({ set_aside }) => set_aside) && "A time below a ~ was set aside: it is not judged.",
    timed.some(({ limit }) => limit !== null) && "The band about the level of the time is noise: " +
      "above its dashed upper edge, the case is slower.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}

export function history_figure(input: HistoryInput, width: number): HTMLElement {
  const points = points_of(input);
  // Shows at least ten nights if there are as many, so that a new case can be seen to be new.
  const from = Math.max(0, Math.min(points[0]?.night ?? 0, input.nights.length - 10));
  const bad = points.filter(({ kind }) => kind === "failure" || kind === "open").length;
  // If the issue is the time, an error within its limit is drawn as fine.
  const of_error = points.map((point): Point => input.is_about_time && (point.percent ?? 0) <= 100
    ? { ...point, kind: "fine" } : point);
  const panels = [error_panel(input, of_error, width, from),
                  time_panel(input, points, width, from)];
  const with_commits = has_commits(input.nights);
  return figure({
    title: `Over ${points.length} of ${input.nights.length} nights`,
    label: `${short(input.case_id, 200)} over ${points.length} nights: ${bad} of them not fine. ` +
      `Now at ${of_limit(points.at(-1)?.percent, "its limit")}.`,
    drawings: input.is_about_time ? panels.reverse() : panels,
    text: legend(input, points, from),
    table: () => plain_table("History by night",
      ["night", ...(with_commits ? ["commit"] : []), "verdict", "% of the limit",
       "rms (sigma)", "time / sentinel's", "level", "limit", "from the level", "decided"],
      [...points].reverse().map((point) => {
        const night = input.nights[point.night];
        const decided = input.decisions.filter((decision) => decision.night === point.night);
        return [
          `${night ? night_date(night) : ""}${night?.suspect ? " (suspect)" : ""}`,
          ...(with_commits ? [commit(night?.commit ?? "")] : []),
          words(point.verdict),
          percent(point.percent),
          number(point.rms),
          `${number(point.ratio)}${point.set_aside ? " (set aside)" : ""}`,
          number(point.level),
          number(point.limit),
          change(point.ratio !== null && point.level ? point.ratio / point.level - 1 : null),
          decided.map(({ kind, who, why }) => `${kind} by ${who}: ${short(why, 120)}`).join("; "),
        ];
      })),
  });
}
