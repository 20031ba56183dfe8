// What every panel gets.
import type { Model } from "./model.ts";
import type { State } from "./state.ts";

export interface Page {
  readonly model: Model;
  readonly state: State;
  link(changes: Partial<State>): string; // "#..." of the page as it is, but for these
  go(changes: Partial<State>): void;
  redraw(): void;
}

// Room for pictures in pixels, as style.css lays the page out.
const widest = 1500, panel_inset = 34;
let of_print = 0;
export function print_width(width: number): void {
  of_print = width; // 0: of the window
}

function room(): number {
  if (of_print > 0) return of_print;
  const width = document.documentElement.clientWidth;
  return Math.min(widest, width) - (width < 600 ? 16 : 48);
}
export function is_wide(): boolean {
  return room() >= 1050;
}
export function full_width(): number {
  return Math.max(260, room() - panel_inset);
}
// Of one of two columns; of the whole where there is room for one only.
export function half_width(): number {
  return is_wide() ? Math.floor((room() - 16) / 2) - panel_inset : full_width();
}
