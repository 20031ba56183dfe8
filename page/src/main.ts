// Draws the panel of the URL, and draws it again when the URL changes.
import type { Report } from "./data.ts";
import { h, hidden, short, type Child } from "./dom.ts";
import { mark, outlook_of_state } from "./format.ts";
import { listen_to_keys } from "./keyboard.ts";
import { load_report } from "./load.ts";
import { Model } from "./model.ts";
import { print_width, type Page } from "./page.ts";
import { architectures_panel } from "./panel_architectures.ts";
import { audit_panel } from "./panel_audit.ts";
import { case_panel } from "./panel_case.ts";
import { cases_panel } from "./panel_cases.ts";
import { compare_panel } from "./panel_compare.ts";
import { coverage_panel } from "./panel_coverage.ts";
import { history_panel } from "./panel_history.ts";
import { invariances_panel } from "./panel_invariances.ts";
import { matrix_panel } from "./panel_matrix.ts";
import { overview_panel } from "./panel_overview.ts";
import { stories_panel } from "./panel_stories.ts";
import { hash_of, initial, panels, read_state, type PanelName, type State } from "./state.ts";
import { theme_button } from "./theme.ts";

const drawn: Record<PanelName, { title: string; draw: (page: Page) => Child }> = {
  overview: { title: "Overview", draw: overview_panel },
  cases: { title: "Cases", draw: cases_panel },
  matrix: { title: "Matrix", draw: matrix_panel },
  case: { title: "Case", draw: case_panel },
  history: { title: "History", draw: history_panel },
  compare: { title: "A and B", draw: compare_panel },
  architectures: { title: "Architectures", draw: architectures_panel },
  coverage: { title: "Coverage", draw: coverage_panel },
  invariances: { title: "Invariances and diffs", draw: invariances_panel },
  audit: { title: "Audit", draw: audit_panel },
  stories: { title: "Stories", draw: stories_panel },
};
const print_width_px = 700;

function panel_element(page: Page, panel: PanelName): HTMLElement {
  return h("div", { class: `panel panel-${panel}` }, drawn[panel].draw(page));
}

class App {
  private readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly tabs = h("nav", { class: "tabs", "aria-label": "Panels" });
  private readonly search: HTMLInputElement = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search  ( / )",
    title: "Words of a case id, kernel, cause, verdict or machine",
    oninput: () => this.replace({ panel: "cases", query: this.search.value }),
  });
  private page: Page;
  private width = 0;

  constructor(private readonly model: Model) {
    this.page = this.page_of({ ...initial });
  }

  start(): void {
    const { report } = this.model;
    document.querySelector("noscript")?.remove();
    document.body.prepend(
      h("a", { class: "skip", href: "#main", onclick: (event: Event) => {
        event.preventDefault(); // what follows "#" in the URL is the page's state
        this.main.focus();
      } }, "Skip to the panel"),
      h("header", null,
        h("div", { class: "brand" },
          h("a", { class: "name", href: hash_of({ ...initial }) }, "plumbline"), " ",
          mark(outlook_of_state(report.state), report.state), " ",
          h("span", { class: "muted subject" }, short(report.subject.label, 40))),
        h("form", { role: "search", onsubmit: (event: Event) => event.preventDefault() },
          h("label", { for: "search" }, hidden("Search the cases")), this.search),
        theme_button()),
      this.tabs, this.main,
      h("footer", null, h("p", { class: "small-print" }, "Keys: press ", h("kbd", null, "?"), ". ",
        "sigma: the standard deviation of the error that a correct kernel's roundings make.")));
    addEventListener("hashchange", () => this.draw());
    addEventListener("resize", () => this.resized());
    addEventListener("beforeprint", () => this.before_print());
    addEventListener("afterprint", () => this.after_print());
    listen_to_keys(() => this.page, this.search);
    this.draw();
  }

  private page_of(state: State): Page {
    return {
      model: this.model,
      state,
      link: (changes) => hash_of({ ...state, ...changes }),
      go: (changes) => (location.hash = hash_of({ ...state, ...changes })),
      redraw: () => this.draw(),
    };
  }

  // Typing adds an entry to the browser's history only if it changes the panel.
  private replace(changes: Partial<State>): void {
    const is_new_panel = this.page.state.panel !== changes.panel;
    const hash = this.page.link(changes);
    if (is_new_panel) location.hash = hash;
    else location.replace(hash);
  }

  private draw(): void {
    const before = this.page.state;
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.key;
    this.page = this.page_of(read_state(location.hash));
    const { state } = this.page;
    this.width = document.documentElement.clientWidth;
    this.draw_tabs();
    if (document.activeElement !== this.search) this.search.value = state.query;
    this.main.replaceChildren(panel_element(this.page, state.panel));
    document.title = `${this.model.report.state}: ${drawn[state.panel].title}, ` +
      `${short(this.model.report.subject.label, 40)} \u00b7 plumbline`;
    this.focus_after(before, focused);
  }

  // Keeps the focus, or moves it to a newly chosen issue or the heading of a new panel or case.
  private focus_after(before: State, focused: string | undefined): void {
    const { state } = this.page;
    if (document.activeElement === this.search) return;
    const news = state.panel === "overview" && state.group >= 0 && state.group !== before.group
      ? document.getElementById(`news-${state.group}`) : null;
    if (news !== null) {
      (news as HTMLDetailsElement).open = true;
      news.scrollIntoView({ block: "center" });
      news.querySelector("summary")?.focus({ preventScroll: true });
      return;
    }
    const is_new = state.panel !== before.panel ||
      (state.panel === "case" && (state.case_id !== before.case_id || state.row !== before.row));
    if (is_new) {
      this.main.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
      scrollTo(0, 0);
    } else if (focused !== undefined) {
      for (const element of this.main.querySelectorAll<HTMLElement>("[data-key]"))
        if (element.dataset.key === focused) element.focus({ preventScroll: true });
    }
  }

  private panels_there(): PanelName[] {
    return panels.filter((panel) => panel !== "case" || this.page.state.case_id !== "");
  }

  private draw_tabs(): void {
    const { page } = this;
    const { state } = page;
    const { invariances, diffs, stories } = this.model.report;
    const sizes: Partial<Record<PanelName, number>> = {
      cases: this.model.cases.rows, invariances: invariances.length + diffs.length,
      stories: stories.length };
    this.tabs.replaceChildren(h("ul", null, this.panels_there().map((panel) =>
      h("li", null, h("a", {
        href: page.link(panel === "overview" ? { panel, group: -1 } : { panel }),
        "aria-current": panel === state.panel ? "page" : null,
      }, drawn[panel].title, sizes[panel] !== undefined &&
        h("span", { class: "tab-size" }, ` ${sizes[panel]!.toLocaleString("en")}`))))));
  }

  private resized(): void {
    if (Math.abs(document.documentElement.clientWidth - this.width) < 40) return;
    this.width = document.documentElement.clientWidth;
    setTimeout(() => {
      if (document.documentElement.clientWidth === this.width) this.draw();
    }, 150);
  }

  // For paper, draws all panels below each other.
  private before_print(): void {
    print_width(print_width_px);
    const { state } = this.page;
    const others = this.panels_there().filter((panel) => panel !== state.panel);
    this.main.replaceChildren(...[state.panel, ...others].map((panel) =>
      panel_element(this.page, panel)));
  }
  private after_print(): void {
    print_width(0);
    this.draw();
  }
}

function tell(error: unknown): void {
  document.querySelector("noscript")?.remove();
  document.body.prepend(h("main", null, h("h1", null, "This report cannot be read"),
    h("p", null, String(error instanceof Error ? error.message : error)),
    h("p", null, "The file may be cut off. Write it again: ",
      h("code", null, "plumbline report latest -o report.html"))));
}

load_report()
  .then((report: Report) => new App(new Model(report)).start())
  .catch((error: unknown) => {
    console.error(error);
    tell(error);
  });
