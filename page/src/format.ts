// Formats numbers, times and names as the terminal's reports do.
import type { Night, Outlook, State } from "./data.ts";
import { h } from "./dom.ts";

export const none = "\u2013"; // not measured

type Maybe = number | null | undefined;

function is_number(value: Maybe): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

// Formats four significant digits.
export function number(value: Maybe): string {
  if (!is_number(value)) return none;
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

// Percent of a limit for NaN and infinite errors (harness/report/page_data.cc).
const beyond_every_limit = 1e15;

function factor(percent: number): string {
  const times = percent / 100;
  return times >= 999_500 ? times.toExponential(1).replace("e+", "e")
                          : count(Number(times.toPrecision(3)));
}

// Formats a percentage of a limit for a cell: "67 %", but "6600x" from 100 times the limit on.
export function percent(value: Maybe): string {
  if (!is_number(value)) return none;
  if (value >= beyond_every_limit) return "\u221e";
  return value > 9999 ? `${factor(value).replaceAll(",", "")}x` : `${value.toFixed(0)} %`;
}

// Formats a percentage of a limit for a sentence: "67 % of the limit", "6,600 x the limit".
export function of_limit(value: Maybe, limit = "the limit"): string {
  if (is_number(value) && value >= beyond_every_limit) return "beyond every limit";
  return is_number(value) && value > 9999 ? `${factor(value)} x ${limit}`
                                          : `${percent(value)} of ${limit}`;
}

// Formats 0.052 as "+5.2 %".
export function change(value: Maybe): string {
  if (!is_number(value)) return none;
  return `${value < 0 ? "\u2212" : "+"}${Math.abs(100 * value).toFixed(1)} %`;
}

export function duration(ns: Maybe): string {
  if (!is_number(ns)) return none;
  const four = (value: number) => String(Number(value.toPrecision(4)));
  if (ns < 1e3) return `${four(ns)} ns`;
  if (ns < 1e6) return `${four(ns / 1e3)} us`;
  if (ns < 1e9) return `${four(ns / 1e6)} ms`;
  return `${four(ns / 1e9)} s`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

// Returns "1 case" or "2,670 cases".
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// Formats a number for a cell of 30 pixels: "4.2", "381", "12k".
export function tiny(value: number): string {
  if (value < 9.95) return value.toFixed(1);
  if (value < 999.5) return value.toFixed(0);
  return value < 99_950 ? `${(value / 1000).toFixed(0)}k` : ">99k";
}

export function share(value: number): string {
  return `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
}

// Formats an ISO 8601 time as "2027-01-30 02:14 UTC"; returns other text unchanged.
export function time(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)/.exec(text);
  return found ? `${found[1]} ${found[2]} UTC` : text;
}

// Returns true for a run outside of nights. Its name is the start of its id.
export function is_run({ name, run_ids }: Night): boolean {
  return run_ids.some((id) => id.startsWith(name));
}

// Returns "night 2027-01-30.2" or "run 1a2b3c4d of 2027-01-30".
export function night_title(night: Night): string {
  return is_run(night) ? `run ${night.name} of ${night_date(night)}` : `night ${night.name}`;
}

// Returns "2027-01-30.2"; for a run its date.
export function night_date(night: Night): string {
  return is_run(night) ? night.started_at.slice(0, 10) : night.name;
}

// Returns the date without the year: "01-30.2".
export function night_day(night: Night): string {
  return night_date(night).replace(/^\d{4}-(\d\d-\d\d)/, "$1");
}

export function commit(text: string): string {
  return /^[0-9a-f]{12,}/.test(text) ? text.slice(0, 7) : text.slice(0, 24);
}

// Returns "expected failure" for expected_failure.
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

// Quotes a text as one shell word.
export function shell_quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const signs: Record<Outlook, string> = {
  fine: "\u2713",
  failure: "\u2715",
  open: "?",
  unmeasured: none,
};
const state_outlooks: Record<State, Outlook> = {
  fine: "fine",
  "not fine": "failure",
  open: "open",
  incomplete: "open",
  "nothing measured": "unmeasured",
};
export function outlook_of_state(state: State): Outlook {
  return state_outlooks[state] ?? "unmeasured";
}
export function sign(outlook: string): string {
  return signs[outlook as Outlook] ?? none;
}

// Shows a verdict or state as a sign and a word, so that colour is never the only hint.
export function mark(outlook: string, text: string): HTMLElement {
  const known = outlook in signs ? outlook : "unmeasured";
  return h("span", { class: `mark mark-${known}` },
    h("span", { class: "sign", "aria-hidden": "true" }, sign(known)), " ", words(text));
}
