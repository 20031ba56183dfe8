// The first screen: the night's state, what broke, and since when.
import type { Group } from "./data.ts";
import { failed_scores } from "./panel_invariances.ts";
import { clipped, command, h, short, type Child } from "./dom.ts";
import { commit, count, outlook_of_state, sign, time, words } from "./format.ts";
import { grid_legend, matrix_grid } from "./matrix_grid.ts";
import { night_strip } from "./night_strip.ts";
import type { Page } from "./page.ts";
import { age_mark, case_list, group_state, of_kernel, range_text, section, since_text, size_text,
  title_of_group } from "./parts.ts";
import { crossed } from "./summary.ts";

const groups_of_card = 3, kernels_of_matrix = 4;

interface Card {
  title: string;
  kinds: readonly Group["kind"][];
  nothing(page: Page): string;
}

const cards: readonly Card[] = [
  {
    title: "Broken",
    kinds: ["broken", "open"],
    nothing: () => "Nothing fails, and nothing is open.",
  },
  {
    title: "Slower",
    kinds: ["slower", "faster"],
    nothing: ({ model }) => model.report.times.length === 0
      ? "No time was judged in this run."
      : "No case is slower than before by more than noise.",
  },
  {
    title: "Coverage lost",
    kinds: ["coverage"],
    nothing: () => "All that was measured before was measured again.",
  },
];
const measured_nothing = "Nothing was measured, so nothing is known.";
const measured_in_part = "Nothing so far. The run is incomplete.";

function sentence(page: Page): HTMLElement {
  const { report } = page.model;
  const { subject, counts } = report;
  const outlook = outlook_of_state(report.state);
  const numbers = `${count(counts.cases)} cases: ${count(counts.fine)} fine, ` +
    `${count(counts.failures)} failing, ${count(counts.open)} open, ` +
    `${count(counts.unmeasured)} not measured`;
  const about = [
    subject.label,
    subject.commit === "" ? "no commit recorded" : `commit ${commit(subject.commit)}`,
    time(subject.started_at),
    short(subject.machines.join("; "), 120),
    `exit code ${subject.exit_code}`,
    numbers,
  ];
  return h("section", { class: `sentence sentence-${outlook}` },
    h("span", { class: "state-sign", "aria-hidden": "true" }, sign(outlook)),
    h("div", null,
      report.state === "nothing measured" &&
        h("p", { class: "banner" },
          "Nothing was measured. This run says nothing about any kernel."),
      report.state === "incomplete" &&
        h("p", { class: "banner" },
          "The run is incomplete. `plumbline run … --resume` measures the rest."),
      h("h1", { tabindex: -1 }, clipped(report.sentence, 300)),
      h("p", { class: "small-print" }, about.filter((part) => part).join(" \u00b7 "))));
}

function group_item(page: Page, group: Group, place: number): HTMLElement {
  const { model } = page;
  const where = [group.dtype, group.arch].filter((part) => part !== "").join(" ");
  const about = [range_text(model, group), size_text(group), short(where, 60)];
  return h("li", null, h("a", { class: `news news-${group.kind}`, 
      title: short(of_kernel(group.kernel, group.title), 600),
      href: page.link(group_state(model, place)) },
    h("span", { class: "news-title" },
      h("span", { class: "sign", "aria-hidden": "true" }, kind_sign(group)), " ",
      title_of_group(group, 220)),
    h("span", { class: "news-where" }, age_mark(model, group),
      about.filter((part) => part !== "").join(" \u00b7 "))));
}

function kind_sign({ kind }: Group): string {
  return { broken: sign("failure"), open: sign("open"), slower: "\u25bc", faster: "\u25b2",
           coverage: sign("unmeasured") }[kind] ?? "";
}

function card(page: Page, { title, kinds, nothing }: Card): HTMLElement {
  const { report } = page.model;
  const groups = report.groups.map((group, place) => ({ group, place }))
    .filter(({ group }) => kinds.includes(group.kind));
  const nothing_text = report.state === "nothing measured" ? measured_nothing
    : report.state === "incomplete" ? measured_in_part : nothing(page);
  const left_out = groups.length - groups_of_card;
  return h("section", { class: "card news-card" },
    h("h2", null, title, groups.length > 0 && h("span", { class: "badge" }, groups.length)),
    groups.length === 0
      ? h("p", { class: "muted" }, nothing_text)
      : h("ul", { class: "news-list" }, groups.slice(0, groups_of_card).map(({ group, place }) =>
          group_item(page, group, place))),
    left_out > 0 && h("p", { class: "small-print" },
      h("a", { href: page.link({ panel: "overview", group: groups[groups_of_card].place }) },
        `and ${left_out} more`)));
}

function matrix(page: Page): HTMLElement {
  const { cases } = page.model;
  const crossing = crossed(cases, cases.all(), "kernel", "dtype");
  const axes = { down: "kernel", across: "dtype" };
  const whole = page.link({ panel: "matrix", ...axes, filters: [], query: "" });
  return h("section", { class: "card" },
    h("div", { class: "title-line" },
      h("h2", null, "Worst % of the limit by kernel and dtype"),
      grid_legend(),
      h("p", { class: "small-print" }, h("a", { href: whole }, "other dimensions"),
        "; arrow keys move, Enter opens; 150x: 150 times the limit")),
    crossing.downs.length === 0
      ? h("p", { class: "muted" }, "The run has no cases. This command runs the nightly suite: ",
          h("code", null, "plumbline run cases/nightly.toml"))
      : matrix_grid(crossing, {
          label: "Worst percent of the limit by kernel and dtype",
          most: kernels_of_matrix,
          link: (filters) => page.link({ panel: "cases", query: "", filters }),
          more: { text: `All ${crossing.downs.length} kernels.`, href: whole },
        }));
}

// Lists all issues in full.
function news(page: Page): HTMLElement | null {
  const { model } = page;
  const { groups } = model.report;
  if (groups.length === 0) return null;
  return section("All news", groups.map((group, place) => {
    const names = h("details", { open: group.names.length <= 20 },
      h("summary", null, `${count(group.names.length)} not in the table of cases`),
      h("ul", { class: "plain-list" }, group.names.slice(0, 200).map((name) =>
        h("li", null, h("code", null, short(name, 300))))));
    const all_cases = page.link({ panel: "cases", query: "",
                                  filters: [{ column: "kernel", value: group.kernel }] });
    const is_open = place === page.state.group || groups.length <= 3;
    return h("details", { class: "news-details", open: is_open, id: `news-${place}` },
      h("summary", null, h("span", { class: `text-${group.kind}` }, kind_sign(group)), " ",
        h("strong", null, title_of_group(group, 300)), " ",
        age_mark(model, group), h("span", { class: "muted" },
          `${words(group.verdict)} \u00b7 ${since_text(model, group)} \u00b7 ${size_text(group)}`)),
      group.text !== group.title && group.text !== "" && h("p", null,
        group.cases.length > 1 ? "The first case: " : "", clipped(group.text, 600)),
      group.cases.length > 0 && case_list(page, group.cases.slice(0, 20),
        group.cases.length > 20 && h("li", null, h("a", { href: all_cases },
          `all cases of ${short(group.kernel, 80)}`))),
      group.names.length > 0 && names);
  }));
}

function about_run(page: Page): HTMLElement {
  const { report } = page.model;
  const of_commit = report.plumbline.commit ? ` (${commit(report.plumbline.commit)})` : "";
  return section("About this run",
    h("p", null,
      `plumbline ${report.plumbline.version}${of_commit} made this page at ` +
      `${time(report.made_at)} from ${report.database || "a database"}.`),
    report.times.length > 0 && h("ul", { class: "plain-list" },
      report.times.map((text) => h("li", null, clipped(text, 500)))),
    report.subject.command !== "" && command(report.subject.command, "the command of this run"));
}

export function overview_panel(page: Page): Child {
  return [
    h("div", { class: "first-screen" },
      sentence(page),
      h("div", { class: "cards" }, cards.map((one) => card(page, one))),
      h("section", { class: "card" }, night_strip(page)),
      matrix(page)),
    news(page),
    failed_scores(page.model.report),
    about_run(page),
  ];
}
