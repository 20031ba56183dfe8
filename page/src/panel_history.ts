// The selected case over nights, if there is one, and all cases over nights.
import * as Plot from "@observablehq/plot";
import { history_figure, marked_nights, night_axis } from "./chart_history.ts";
import { data_table } from "./data_table.ts";
import type { Night } from "./data.ts";
import { empty, h, short, type Child } from "./dom.ts";
import { figure } from "./figure.ts";
import { change, commit, is_run, mark, night_title, plural, shell_quoted, time }
  from "./format.ts";
import { night_in_words, night_strip, outlook_of_night } from "./night_strip.ts";
import { full_width, type Page } from "./page.ts";
import { case_link, group_state, section, since_text, size_text, title_of_group } from "./parts.ts";

export function history_of_case(page: Page, row: number, width: number): HTMLElement {
  const { model, state } = page;
  const case_id = model.cases.text("case_id", row);
  const detail = model.detail(row);
  const asking = `plumbline history ${shell_quoted(case_id)}`;
  if (detail === undefined)
    return empty("The page holds the history of the cases that are not fine and of those nearest " +
      "to their limit. This command draws the history of this case:", asking);
  if (detail.history.night.length === 0)
    return empty("No run that was stored before has this case. Nightly runs into one database " +
      "make a history:", "ci/nightly.sh --history history.db");
  return history_figure({
    case_id,
    history: detail.history,
    nights: model.report.nights,
    decisions: model.decisions(case_id),
    since_night: model.group(row)?.since_night ?? -1,
    chosen: state.night,
    is_about_time: model.is_about_time(row),
  }, width);
}

function counts_drawing(nights: readonly Night[], chosen: string, width: number): Element {
  const bars = nights.map((night, place) => ({ night, place }));
  type Bar = (typeof bars)[number];
  const shared = {
    x1: ({ place }: Bar) => place - 0.35,
    x2: ({ place }: Bar) => place + 0.35,
    title: ({ night }: Bar) => short(night_in_words(night), 300),
    tip: true,
  };
  return Plot.plot({
    width,
    height: 220,
    marginLeft: 52,
    x: night_axis(nights, width, 0),
    y: { label: "\u2191 cases that fail or are open", grid: true, ticks: 5, nice: true,
         domain: [0, Math.max(4, ...nights.map(({ failures, open }) => failures + open))] },
    marks: [
      ...marked_nights(nights, chosen, 0),
      Plot.rect(bars.filter(({ night }) => night.failures > 0),
                { ...shared, y1: () => 0, y2: ({ night }: Bar) => night.failures,
                  fill: "var(--red-bar)" }),
      Plot.rect(bars.filter(({ night }) => night.open > 0),
                { ...shared, y1: ({ night }: Bar) => night.failures,
                  y2: ({ night }: Bar) => night.failures + night.open, fill: "var(--orange)" }),
      Plot.ruleY([0]),
    ],
  });
}

function nights_table(nights: readonly Night[]): HTMLElement {
  const has_commit = nights.some(({ commit }) => commit !== "");
  return data_table({
    label: "Nights",
    noun: "night",
    rows: [...nights].reverse(),
    columns: [
      { name: "name", title: "night",
        key: (night) => (is_run(night) ? night_title(night) : night.name) },
      { name: "outlook", title: "state", key: outlook_of_night, show: (night) =>
          mark(outlook_of_night(night), night.state === "incomplete"
            ? night.state : `exit code ${night.exit_code}`) },
      { name: "failures", title: "failing", numeric: true },
      { name: "open", numeric: true },
      { name: "fine", numeric: true },
      { name: "unmeasured", title: "not measured", numeric: true },
      { name: "shift", title: "shift of all times", format: change },
      { name: "suspect", key: ({ suspect, why }) => (suspect ? why || "yes" : ""),
        show: ({ suspect, why }) => (suspect ? short(why || "yes", 160) : "no") },
      ...(has_commit ? [{ name: "commit",
        show: (night: Night) => h("code", null, commit(night.commit)) }] : []),
      { name: "started_at", title: "started", show: (night) => time(night.started_at) },
    ],
  });
}

function of_all(page: Page): Child {
  const { nights } = page.model.report;
  if (nights.length === 0)
    return empty("The database has no run before this one. Nightly runs into one database make a " +
      "history:", "ci/nightly.sh --history history.db");
  const width = full_width();
  return section("All cases", figure({
    title: `${plural(nights.length, "night")}, oldest first`,
    label: `Failing and open cases of ${nights.length} nights; the newest: ` +
      short(night_in_words(nights[nights.length - 1]), 200),
    drawings: [counts_drawing(nights, page.state.night, width)],
    text: "Red: failing. Orange, on top: open. Shaded: the night is suspect.",
    table: () => nights_table(nights),
  }));
}

// Links to the history of each issue's lead case.
function choices(page: Page): HTMLElement | null {
  const { model } = page;
  const groups = model.report.groups.map((group, place) => ({ group, place }))
    .filter(({ group }) => group.cases.length > 0);
  if (groups.length === 0) return null;
  return section("New issues", h("ul", { class: "plain-list" }, groups.slice(0, 50).map(
    ({ group, place }) => h("li", null,
      h("a", { href: page.link({ ...group_state(model, place), panel: "history" }) },
        title_of_group(group, 160)),
      h("span", { class: "muted" }, ` ${since_text(model, group)}, ${size_text(group)}`)))));
}

export function history_panel(page: Page): Child {
  const { model, state } = page;
  const row = model.chosen_row(state);
  const group = model.report.groups[state.group];
  const others = (group?.cases ?? []).filter((other) => other !== row && row >= 0).slice(0, 5);
  const width = full_width();
  return [
    h("h1", { tabindex: -1 }, row < 0 ? "History" : "History of one case"),
    h("section", { class: "card" }, night_strip(page)),
    row >= 0 && section(short(model.cases.text("case_id", row), 300),
      h("p", null, case_link(page, row), " ", h("a", { class: "chip", href:
        page.link({ case_id: "", row: -1, group: -1 }) }, "all cases instead")),
      history_of_case(page, row, width)),
    row >= 0 && others.length > 0 && group?.cases.includes(row) &&
      section("Other cases of its issue", others.map((other) =>
        h("div", null, h("h3", null, case_link(page, other)),
          history_of_case(page, other, width)))),
    of_all(page),
    choices(page),
    h("p", { class: "small-print" },
      `${plural(model.report.decisions.length, "decision")} of people (accept, pin, acknowledge) ` +
      "are shown in the histories of their cases."),
  ];
}
