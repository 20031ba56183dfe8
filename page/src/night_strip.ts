// The newest nights as a row of buttons that show the shares of fine, failing, open and unmeasured
// cases.
import type { Night, Outlook } from "./data.ts";
import { h, short } from "./dom.ts";
import {
  commit, count, is_run, night_date, night_day, night_title, outlook_of_state, sign, time,
} from "./format.ts";
import { full_width, type Page } from "./page.ts";
import { roving } from "./roving.ts";
import { outlook_of } from "./summary.ts";

const worst_first: readonly Outlook[] = ["failure", "open", "unmeasured", "fine"];
// Returns the worse of two outlooks: of a night's counts of cases, which later verdicts change, and
// of the night's state, which also covers suite statistics, diffs, invariances, changes, coverage
// and clocks.
export function outlook_of_night(night: Night): Outlook {
  const both = [outlook_of(night), outlook_of_state(night.state)];
  return worst_first.find((outlook) => both.includes(outlook)) ?? "unmeasured";
}

export function night_in_words(night: Night): string {
  const parts = [
    `${count(night.fine)} fine`,
    `${count(night.failures)} failing`,
    `${count(night.open)} open`,
    `${count(night.unmeasured)} not measured`,
  ];
  const suspect = night.suspect ? `; suspect: ${night.why || "its times were set aside"}` : "";
  const name = is_run(night) ? night_title(night) : night.name;
  const is_more = night.state === "incomplete" || outlook_of_night(night) !== outlook_of(night);
  const begin = is_more ? `${night.state}, ` : "";
  return `${name}: ${begin}${parts.join(", ")}${suspect}`;
}

function bar(night: Night): HTMLElement {
  const part = (name: string, value: number) =>
    value > 0 && h("span", { class: `part part-${name}`, style: { "flex-grow": String(value) } });
  const is_empty = night.fine + night.failures + night.open + night.unmeasured === 0;
  return h("span", { class: `bar${night.suspect ? " bar-suspect" : ""}`, "aria-hidden": "true" },
    part("failure", night.failures), part("open", night.open), part("fine", night.fine),
    part("unmeasured", is_empty ? 1 : night.unmeasured));
}

// Returns the night as the command accepts it: by name, or for a run by the start of its id.
function name_of(night: Night): string {
  return is_run(night) ? night.name : `night:${night.name}`;
}

function about(page: Page, night: Night): HTMLElement {
  const events = night.events ?? [];
  return h("div", { class: "about-night" },
    h("p", null, `${short(night_in_words(night), 600)}. `,
      night.commit !== "" && `Commit ${commit(night.commit)}. `,
      `Started ${time(night.started_at)}. `,
      h("a", { href: page.link({ panel: "history" }) }, "Show it in the history"), ". ",
      "Its own page: ", h("code", null, `plumbline report ${name_of(night)}`)),
    events.length > 0 && h("ul", null, events.map(({ kind, who, at, detail }) =>
      h("li", null, `${kind} by ${who}, ${time(at)}: ${short(detail, 300)}`))));
}

const widest_bar = 49, room_of_letter = 8; // pixels, as in style.css
const legend = `A bar is a night, its height the share of the cases: ${sign("failure")} failing, ` +
  `${sign("open")} open, hatched: not measured; ~ suspect times`;

// Keeps what distinguishes two nights of one day: "01-30", "01-30.2".
const label_of = (night: Night) => short(night_day(night), 10);

export function night_strip(page: Page): HTMLElement {
  const { nights } = page.model.report;
  const said = h("p", { class: "small-print strip-said" }, legend);
  const say = (text: string) => (said.textContent = text);
  if (nights.length === 0)
    return h("p", { class: "small-print" }, "No night is known before this run.");
  // If there is no room for all dates, shows those of every step-th night, counted from the newest.
  const room_of_date = room_of_letter * Math.max(...nights.map((night) => label_of(night).length));
  const step = Math.ceil(room_of_date / Math.min(widest_bar, full_width() / nights.length));
  const buttons = nights.map((night, place) => {
    const outlook = outlook_of_night(night);
    const mark = outlook === "fine" ? (night.suspect ? "~" : "") : sign(outlook);
    const is_chosen = night.name === page.state.night;
    const text = short(night_in_words(night), 300);
    return h("button", {
      type: "button",
      class: `night${place === nights.length - 1 ? " night-last" : ""}`,
      title: text,
      "aria-label": text,
      "aria-pressed": String(is_chosen),
      "data-key": `night:${night.name}`,
      onclick: () => page.go({ night: is_chosen ? "" : night.name }),
      onmouseenter: () => say(text),
      onmouseleave: () => say(legend),
      onfocus: () => say(text),
      onblur: () => say(legend),
    }, h("span", { class: `night-mark text-${outlook}`, "aria-hidden": "true" }, mark), bar(night),
      h("span", { class: "night-date", "aria-hidden": "true" },
        (nights.length - 1 - place) % step === 0 ? label_of(night) : ""));
  });
  const strip = h("div", { class: "strip", role: "group", "aria-label": "Nights, oldest first" },
    buttons);
  const chosen = nights.findIndex(({ name }) => name === page.state.night);
  const current = buttons[chosen >= 0 ? chosen : buttons.length - 1];
  roving(strip, [buttons], current);
  requestAnimationFrame(() => (strip.scrollLeft = current.offsetLeft - strip.clientWidth / 2));
  const [first, last] = [nights[0], nights[nights.length - 1]].map(night_date);
  return h("div", null,
    h("div", { class: "title-line" },
      h("h2", null, first === last ? `Night ${first}` : `Nights ${first} to ${last}`), said),
    strip,
    chosen >= 0 && about(page, nights[chosen]));
}
