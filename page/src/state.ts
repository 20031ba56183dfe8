// The page's state. All of it is in the URL after "#", so that links, back and forward work.
import type { Filter } from "./filter.ts";

export const panels = [
  "overview",
  "cases",
  "matrix",
  "case",
  "history",
  "compare",
  "architectures",
  "coverage",
  "invariances",
  "audit",
  "stories",
] as const;
export type PanelName = (typeof panels)[number];

export interface State {
  panel: PanelName;
  case_id: string; // "" = none
  row: number; // selects among cases with equal ids; -1: the first
  group: number; // index of the report's groups; -1: none
  query: string;
  filters: Filter[];
  sort: string; // "" = most important first
  descending: boolean;
  down: string;
  across: string;
  night: string; // the selected night's name
  dimension: string; // what A and B differ in; "report" = this report and the other one
  a: string;
  b: string;
  measure: string; // compared value: percent_of_limit, rms, time_ns
}

export const initial: State = {
  panel: "overview",
  case_id: "",
  row: -1,
  group: -1,
  query: "",
  filters: [],
  sort: "",
  descending: false,
  down: "kernel",
  across: "dtype",
  night: "",
  dimension: "",
  a: "",
  b: "",
  measure: "percent_of_limit",
};

const texts = {
  case: "case_id",
  q: "query",
  sort: "sort",
  down: "down",
  across: "across",
  night: "night",
  by: "dimension",
  a: "a",
  b: "b",
  measure: "measure",
} as const;
const numbers = { row: "row", group: "group" } as const;

export function read_state(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state: State = { ...initial, filters: [] };
  for (const [key, field] of Object.entries(texts)) state[field] = given.get(key) ?? state[field];
  for (const [key, field] of Object.entries(numbers)) {
    const value = Number.parseInt(given.get(key) ?? "", 10);
    if (value >= 0) state[field] = value;
  }
  state.descending = given.get("order") === "descending";
  for (const [key, value] of given)
    if (key.startsWith("f.")) state.filters.push({ column: key.slice(2), value });
  const panel = given.get("panel") ?? "";
  state.panel = (panels as readonly string[]).includes(panel) ? (panel as PanelName) : "overview";
  return state;
}

// Keeps the characters "/:,=@" readable in the URL.
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3A|2C|3D|40)/g, (code) => decodeURIComponent(code));
}

export function hash_of(state: State): string {
  const parts = [`panel=${state.panel}`];
  for (const [key, field] of Object.entries(texts))
    if (state[field] !== initial[field]) parts.push(`${key}=${encoded(state[field])}`);
  for (const [key, field] of Object.entries(numbers))
    if (state[field] !== initial[field]) parts.push(`${key}=${state[field]}`);
  if (state.descending) parts.push("order=descending");
  for (const { column, value } of state.filters)
    parts.push(`f.${encodeURIComponent(column)}=${encoded(value)}`);
  return `#${parts.join("&")}`;
}
