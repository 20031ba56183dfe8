// A chart with its title, a description in words, and its values as a table.
import { fresh_id, h, type Child } from "./dom.ts";

export interface FigureOptions {
  title: string;
  label: string; // description for screen readers
  drawings: readonly (Element | null)[];
  text?: Child; // below the chart: how to read it
  table: () => HTMLElement; // built when the user opens it
}

// Removes Plot's names of single marks: the chart is one image with one name.
export function as_image<E extends Element>(drawing: E, label: string): E {
  for (const inner of drawing.querySelectorAll("[aria-label], [aria-description]")) {
    inner.removeAttribute("aria-label");
    inner.removeAttribute("aria-description");
  }
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", label);
  return drawing;
}

export function as_table(table: () => HTMLElement): HTMLElement {
  const details: HTMLDetailsElement = h("details", {
    class: "as-table",
    ontoggle: () => {
      if (details.open && details.childElementCount === 1) details.append(table());
    },
  }, h("summary", null, "Show as table"));
  return details;
}

export function figure(options: FigureOptions): HTMLElement {
  const id = fresh_id("figure");
  const drawings = options.drawings.filter((drawing) => drawing !== null);
  drawings.forEach((drawing, i) =>
    as_image(drawing, drawings.length > 1 ? `${options.label} (${i + 1} of ${drawings.length})`
                                          : options.label));
  return h("figure", { "aria-labelledby": id },
    h("figcaption", { id }, options.title),
    h("div", { class: "drawing" }, drawings),
    options.text && h("p", { class: "small-print" }, options.text),
    as_table(options.table));
}
