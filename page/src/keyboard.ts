// Keyboard shortcuts: "/" searches, j and k visit the cases that are not fine, "?" shows help.
import { h } from "./dom.ts";
import type { Page } from "./page.ts";

const keys: readonly (readonly [string, string])[] = [
  ["/", "search the cases"],
  ["j", "next case that is not fine; in a table of cases, the next row"],
  ["k", "previous such case or row"],
  ["arrow keys", "move between the cells of a matrix and between nights"],
  ["Home, End", "first and last cell of a row; with Ctrl, of the matrix"],
  ["Enter", "open the cell, case or night"],
  ["o", "overview"],
  ["?", "this list"],
];

function help(): void {
  const onclose = () => dialog.remove();
  const dialog: HTMLDialogElement = h("dialog", { "aria-label": "Keys", onclose },
    h("h2", null, "Keys"),
    h("dl", { class: "facts keys" }, keys.map(([key, text]) =>
      h("div", null, h("dt", null, h("kbd", null, key)), h("dd", null, text)))),
    h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Close"));
  document.body.append(dialog);
  dialog.showModal();
}

// In a table of cases, moves the focus by one case. Elsewhere opens the next or previous case that
// is not fine.
function go_through(page: Page, by: 1 | -1): void {
  const { model, state } = page;
  if (state.panel !== "case") {
    const links = [...document.querySelectorAll<HTMLElement>("main .data-table .case-link")];
    if (links.length > 0) {
      const place = links.indexOf(document.activeElement as HTMLElement);
      links[Math.min(links.length - 1, Math.max(0, place + by))].focus();
      return;
    }
  }
  const place = model.bad.indexOf(model.chosen_row(state));
  const to = place < 0 ? model.bad[0] : model.bad[place + by];
  if (to !== undefined) page.go({ panel: "case", ...model.choice(to) });
}

export function listen_to_keys(page: () => Page, search: HTMLInputElement): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target === search && event.key === "Escape") search.blur();
    if (target.closest("input, select, textarea, dialog")) return;
    const acts: Record<string, () => void> = {
      "/": () => {
        search.focus();
        search.select();
      },
      j: () => go_through(page(), 1),
      k: () => go_through(page(), -1),
      o: () => page().go({ panel: "overview", group: -1 }),
      "?": help,
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}
