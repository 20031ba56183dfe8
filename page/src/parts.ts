// Elements that several panels share.
import { breakable, clipped, h, short, type Child } from "./dom.ts";
import { commit, mark, night_title, plural } from "./format.ts";
import type { Group } from "./data.ts";
import type { Model } from "./model.ts";
import type { Page } from "./page.ts";
import type { State } from "./state.ts";

export function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", null, title), children);
}

// A list of names and values, without those that have no value.
export function facts(list: readonly (readonly [Child, Child])[]): HTMLElement {
  const known = list.filter(([, value]) =>
    value !== "" && value !== null && value !== undefined && value !== "\u2013" &&
    value !== "\u2013 sigma");
  return h("dl", { class: "facts" }, known.map(([name, value]) =>
    h("div", null, h("dt", null, name),
      h("dd", null, typeof value === "string" ? clipped(value, 400) : value))));
}

// A drop-down list. `values` are [value, text].
export function choice(label: string, values: readonly (readonly [string, string])[],
                       chosen: string, choose: (value: string) => void): HTMLElement {
  const select: HTMLSelectElement = h("select", {
    "data-key": `choice:${label}`,
    onchange: () => choose(select.value),
  }, values.map(([value, text]) =>
    h("option", { value, selected: value === chosen }, short(text, 60))));
  return h("label", { class: "choice" }, h("span", null, label), select);
}

// Links to the group's lead case or, without one, to the group in the overview.
export function group_state(model: Model, place: number): Partial<State> {
  const lead = model.report.groups[place].cases[0];
  return lead === undefined
    ? { panel: "overview", group: place }
    : { panel: "case", ...model.choice(lead), group: place };
}

// Returns "since 0123abc..4567def", or the night if the commits are unknown.
export function range_text(model: Model, group: Group): string {
  const [from, to] = [commit(group.since), commit(group.commit)];
  if (from !== "" && to !== "") return from === to ? `at ${to}` : `since ${from}..${to}`;
  if (to !== "") return `at ${to}, without a past`;
  if (from !== "") return `since a commit after ${from}`;
  const night = model.report.nights[group.since_night];
  return night === undefined ? "since when is not known" : `since ${night_title(night)}`;
}

export function since_text(model: Model, group: Group): string {
  const range = range_text(model, group);
  const night = model.report.nights[group.since_night];
  const title = night === undefined ? "" : night_title(night);
  return title === "" || range.includes(title) ? range : `${range} (${title})`;
}

// "new": first in this night; "still": also in the night before; "": unknown.
export function age_of({ report }: Model, group: Group): "new" | "still" | "" {
  const last = report.nights.length - 1;
  if (last < 1 || group.since_night < 0) return "";
  return group.since_night === last ? "new" : "still";
}
export function age_mark(model: Model, group: Group): HTMLElement | null {
  const age = age_of(model, group);
  return age === "" ? null : h("span", { class: `age age-${age}` }, age);
}

// Puts the kernel before the text: "cpu/split_kv: would be explained if ...".
export function of_kernel(kernel: string, text: string): string {
  return kernel === "" ? text : `${short(kernel, 80)}: ${text}`;
}
export function title_of_group({ kernel, title, kind }: Group, most: number): Child {
  const word = kind === "open" || kind === "faster" ? `${kind}: ` : "";
  return [kernel !== "" && [h("span", null, short(kernel, 80)), ": "], word + short(title, most)];
}

// Tooltips for terms of docs/words.md.
const meanings: Record<string, string> = {
  sentinel: "sentinel: a fixed piece of work, timed alternately with the kernel; the ratio of " +
    "the two times hardly depends on the clock rate",
};
export function defined(text: string, word: string): HTMLElement {
  return h("abbr", { title: meanings[word] }, text);
}

export function size_text(group: Group): string {
  const size = group.cases.length + group.names.length;
  return plural(size, group.cases.length > 0 ? "case" : "result");
}

// A list of cases with their verdicts.
export function case_list(page: Page, rows: readonly number[], ...more: Child[]): HTMLElement {
  const { cases } = page.model;
  return h("ul", { class: "plain-list" }, rows.map((row) => h("li", null,
    mark(cases.outlook(row), cases.text("verdict", row)), " ", case_link(page, row))), more);
}

export function case_link(page: Page, row: number, most = 140): HTMLElement {
  const id = page.model.cases.text("case_id", row);
  return h("a", { class: "case-link", href: page.link({ panel: "case", ...page.model.choice(row) }),
    title: id.length > most ? short(id, 500) : null }, breakable(short(id, most)));
}
