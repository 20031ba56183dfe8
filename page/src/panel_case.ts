// One case: its cause, the command that repeats it, and pictures of its errors.
import { error_map, head_strip, heads_in_words, shares_bar, steps_legend }
  from "./case_pictures.ts";
import { histogram, rounding_answer } from "./chart_histogram.ts";
import type { Detail } from "./data.ts";
import { dimensions_of, label_of } from "./dimensions.ts";
import { clipped, command, empty, h, short, type Child } from "./dom.ts";
import { defined, facts, of_kernel, section, since_text } from "./parts.ts";
import { change, count, duration, mark, number, of_limit, percent, plural, shell_quoted, words }
  from "./format.ts";
import { history_of_case } from "./panel_history.ts";
import { plain_table } from "./data_table.ts";
import { deciding_statistics, other_statistics, statistic_name } from "./statistics.ts";
import { full_width, half_width, type Page } from "./page.ts";

function worst_text(worst: NonNullable<Detail["worst"]>): string {
  const value = (of: number | null) => (of === null ? "no number" : String(of));
  const where = worst.column < 0
    ? `sample ${worst.sample} head ${worst.head} row ${worst.row}`
    : `sample ${worst.sample} head ${worst.head} row ${worst.row} column ${worst.column}`;
  const text = `Worst (${statistic_name(worst.statistic)}): ${where}, ` +
    `${plural(worst.visible_keys, "visible key")}. Got ${value(worst.got)}, expected ` +
    value(worst.expected);
  if (worst.got === null || worst.expected === null) return `${text}.`;
  const error = worst.got - worst.expected;
  const in_ulp = worst.column < 0 ? "" : `, ${number(error / worst.ulp)} ulp of the output`;
  return `${text}; the error of ${number(error)} is ${number(error / worst.sigma)} sigma${in_ulp}.`;
}

function neighbours(page: Page, row: number): HTMLElement | null {
  const { bad } = page.model;
  if (bad.length === 0) return null;
  const place = bad.indexOf(row);
  const link = (to: number | undefined, text: string, key: string) =>
    to === undefined
      ? h("span", { class: "muted" }, text)
      : h("a", { href: page.link(page.model.choice(to)), title:
          short(page.model.cases.text("case_id", to)), rel: key === "j" ? "next" : "prev" },
          text, " ", h("kbd", null, key));
  const where = `${place < 0 ? "" : `${place + 1} of `}${count(bad.length)} not fine`;
  return h("nav", { class: "neighbours", "aria-label": "Cases that are not fine" },
    link(place < 0 ? undefined : bad[place - 1], "\u2190 previous", "k"),
    h("span", { class: "muted" }, where),
    link(bad[place + 1], "next \u2192", "j"));
}

// Summarises the finding: the time of a case that got slower or faster, otherwise the error.
function verdict(page: Page, row: number): Child {
  const { cases } = page.model;
  const at = cases.number("percent_of_limit", row);
  const nearest = cases.text("nearest_statistic", row);
  const error = at === null ? ""
    : `${of_limit(at)}${nearest === "" ? "" : ` (${statistic_name(nearest)})`}`;
  const by = cases.number("gate_change", row);
  if (!page.model.is_about_time(row) || by === null)
    return [mark(cases.outlook(row), cases.text("verdict", row)), " ", error];
  const is_slower = by > 0;
  const size = by >= 1 ? `${number(Number((1 + by).toPrecision(3)))} times its usual time`
    : `${change(by)} from its usual time`;
  return [
    h("span", { class: `mark text-${is_slower ? "slower" : "faster"}` },
      h("span", { class: "sign", "aria-hidden": "true" }, is_slower ? "\u25bc" : "\u25b2"),
      is_slower ? " slower" : " faster"),
    `: ${size}; verdict: ${words(cases.text("verdict", row))}`,
    error !== "" && `; its error is fine, at ${error}`];
}

function head(page: Page, row: number, detail: Detail | undefined): Child {
  const { cases } = page.model;
  const kernel = cases.is_bad(row) ? cases.text("kernel", row) : "";
  const heads = detail === undefined || !cases.is_bad(row) || page.model.is_about_time(row) ? ""
    : heads_in_words(detail);
  return [
    h("h1", { class: "cause", tabindex: -1 },
      clipped(of_kernel(kernel, page.model.cause(row)), 600)),
    h("p", { class: "verdict-line" }, verdict(page, row), group_text(page, row)),
    heads !== "" && h("p", { class: "verdict-line" }, heads),
    h("p", { class: "case-id" }, h("code", null, clipped(cases.text("case_id", row), 300))),
    detail && detail.reproduce !== ""
      ? [h("h2", { class: "label" }, "Reproduce"),
         command(detail.reproduce, "the line that repeats this case")]
      : null,
    neighbours(page, row),
  ];
}

function group_text(page: Page, row: number): Child {
  const group = page.model.group(row);
  if (group === undefined) return null;
  const others = group.cases.length - 1;
  return h("span", { class: "muted" }, `, ${since_text(page.model, group)}`,
    others > 0 && [", ", h("a", { href: page.link({ panel: "cases", query: "", filters: [
      { column: "kernel", value: page.model.cases.text("kernel", row) },
      { column: "cause", value: page.model.cases.text("cause", row) }] }) },
      `${plural(others, "more case")} with this cause`)]);
}

function findings(detail: Detail): HTMLElement | null {
  const { findings, notes, reason, location, looser_rung, worst } = detail;
  const lines: Child[] = [
    ...findings.map(({ text }) => h("li", null, clipped(text, 600))),
    reason !== "" && h("li", null, "Reason: ", clipped(reason, 600)),
    location !== "" && h("li", null, "Where: ", clipped(location, 600)),
    worst !== null && h("li", null, worst_text(worst)),
    looser_rung !== "" &&
      h("li", null, "A looser spec would explain the error: ", clipped(looser_rung, 300)),
    ...notes.map((note) => h("li", null, "Note: ", clipped(note, 600))),
  ].filter((line) => line !== false);
  const [errors, others] = [deciding_statistics(detail), other_statistics(detail)];
  if (lines.length === 0 && errors.length === 0 && others.length === 0) return null;
  return section("What was found",
    lines.length > 0 && h("ul", { class: "findings" }, lines),
    errors.length > 0 && plain_table("Errors and their limits",
      ["statistic", "value", "limit", "% of limit"], errors),
    others.length > 0 && h("details", null,
      h("summary", null, `${count(others.length)} statistics that decide nothing`),
      plain_table("Statistics that decide nothing", ["statistic", "value"], others)));
}

function pictures(detail: Detail, is_fine: boolean): Child {
  const { picture, heads, worst } = detail;
  const of_heads = heads_in_words(detail);
  if (picture === null && heads.length === 0 && (worst === null || worst.shares.length === 0))
    return section("Where the errors lie", empty(
      "This case has no picture, because its kernel returned no output that could be judged, or " +
      "because an older plumbline, which stored no pictures, ran it."));
  return [
    h("div", { class: "two-columns" },
      section("Where the errors lie",
        of_heads !== "" && h("p", { class: "answer" }, of_heads),
        heads.length > 0 && head_strip(detail),
        picture !== null && error_map(picture, detail.limits["peak"]),
        steps_legend(detail),
        worst !== null && worst.shares.length > 0 && shares_bar(worst)),
      picture !== null && section("Is it rounding?",
        h("p", { class: "answer" }, rounding_answer(picture, is_fine)),
        histogram(picture, half_width()))),
  ];
}

function contract(detail: Detail): HTMLElement {
  const { contract, launched } = detail;
  return section("What the kernel promises and what ran", facts([
    ["Judged by the spec", contract.spec],
    ["Declared by the kernel", contract.declared],
    ["Promises", contract.promises],
    ["Padded rows", contract.policy],
    ["Launched", launched.what],
    ["Build", launched.build],
    ["Tensor cores", launched.tensor_cores],
    ["Registers per thread", launched.registers === null ? "" : String(launched.registers)],
    ["Spilled bytes per thread", launched.spills === null ? "" : String(launched.spills)],
    ["Shared memory", launched.shared_bytes === null ? ""
      : `${number(launched.shared_bytes / 1000)} KB per block`],
    ["Saved to", detail.saved_to],
  ]));
}

function time_of(detail: Detail): HTMLElement | null {
  const { time } = detail;
  if (time === null) return null;
  return section("Time", facts([
    ["A call", `${duration(time.ns)} (median; MAD ${duration(time.mad_ns)})`],
    [["Ratio to the ", defined("sentinel's", "sentinel")], number(time.ratio)],
    // 0: unknown
    ["Level of the nights before", number(time.level || null)],
    ["Slower above", number(time.limit || null)],
    ["Change from the level", change(time.level ? time.change : null)],
    ["Found", time.finding || "not judged yet: too few nights"],
    ["Measured again", time.confirmation === "" ? "" : `${time.confirmation} by fresh processes` +
      (time.fresh.length > 0 ? `: ${time.fresh.map(number).join(", ")}` : "")],
  ]));
}

function figures(page: Page, row: number): HTMLElement {
  const { cases } = page.model;
  const value = (name: string) => cases.number(name, row);
  return section("Figures of the case", facts([
    ["% of the limit", percent(value("percent_of_limit"))],
    ["rms", `${number(value("rms"))} sigma`],
    ["peak", `${number(value("peak"))} sigma`],
    ["Time of a call", duration(value("time_ns"))],
    [["Ratio to the ", defined("sentinel's", "sentinel")], number(value("time_ratio"))],
    ["Change from the level", change(value("gate_change"))],
    ["Total time", value("wall_ms") === null ? "" : `${number(value("wall_ms"))} ms`],
    ...dimensions_of(cases).filter(({ name }) => name !== "cause").map(({ name, title }) =>
      [title, h("a", { href: page.link({ panel: "cases", query: "",
        filters: [{ column: name, value: cases.text(name, row) }] }) },
        short(label_of(cases.text(name, row)), 120))] as [string, Child]),
  ]));
}

function without_detail(page: Page, row: number): Child {
  const shown = page.model.show_command(row);
  if (!page.model.report.live)
    return section("Pictures", empty("The page holds pictures and history of the cases that are " +
      "not fine and of those nearest to their limit. For this case, use the command:", shown));
  const box = section("Pictures", h("p", { role: "status" }, "Reading the database\u2026"));
  page.model.load_detail(row).then(() => page.redraw(), (error: unknown) => box.replaceChildren(
    h("h2", null, "Pictures"),
    empty(`The server did not send this case (${String(error)}). This command shows it:`,
      shown)));
  return box;
}

export function case_panel(page: Page): Child {
  const row = page.model.chosen_row(page.state);
  if (row < 0)
    return [h("h1", { tabindex: -1 }, "No case is chosen"),
      page.state.case_id !== ""
        ? empty(`This report has no case ${short(page.state.case_id, 300)}; another run may ` +
            "have it. Its history:", `plumbline history ${shell_quoted(page.state.case_id)}`)
        : h("p", null, "Choose one in the ", h("a", { href: page.link({ panel: "cases" }) },
            "table of cases"), ", or a cell of the ",
            h("a", { href: page.link({ panel: "matrix" }) }, "matrix"), ".")];
  const detail = page.model.detail(row);
  if (detail === undefined)
    return [head(page, row, detail), without_detail(page, row), figures(page, row)];
  const nights = section("Over the nights", history_of_case(page, row, full_width()));
  const is_fine = page.model.cases.outlook(row) === "fine";
  if (page.model.is_about_time(row))
    return [
      head(page, row, detail),
      nights,
      h("div", { class: "two-columns" }, time_of(detail), findings(detail)),
      pictures(detail, true),
      contract(detail),
      figures(page, row),
    ];
  return [
    head(page, row, detail),
    pictures(detail, is_fine),
    findings(detail),
    nights,
    h("div", { class: "two-columns" }, contract(detail), time_of(detail)),
    figures(page, row),
  ];
}
