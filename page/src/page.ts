// The arguments of every panel.
import type { Model } from "./model.ts";
import type { State } from "./state.ts";

export interface Page {
  readonly model: Model;
  readonly state: State;
  link(changes: Partial<State>): string; // "#…" of the current state with these changes
  go(changes: Partial<State>): void;
  redraw(): void;
}

// The width of charts in pixels; must agree with style.css.
const widest = 1500, panel_inset = 34;
let print_room = 0;
export function print_width(width: number): void {
  print_room = width; // 0: use the window's width
}

function room(): number {
  if (print_room > 0) return print_room;
  const width = document.documentElement.clientWidth;
  return Math.min(widest, width) - (width < 600 ? 16 : 48);
}
export function is_wide(): boolean {
  return room() >= 1050;
}
export function full_width(): number {
  return Math.max(260, room() - panel_inset);
}
// Returns the width of one of two columns, or of the page if there is room for only one.
export function half_width(): number {
  return is_wide() ? Math.floor((room() - 16) / 2) - panel_inset : full_width();
}
