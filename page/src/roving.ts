// Moves the focus by arrow keys within a table or row of controls. Tab reaches only one control.

// `places`: the controls by row and column; null if there is none.
export function roving(container: HTMLElement, places: (HTMLElement | null)[][],
                       first: HTMLElement | null): void {
  const all = places.flat().filter((place) => place !== null);
  let current = first ?? all[0];
  if (current === undefined) return;
  for (const place of all) place.setAttribute("tabindex", place === current ? "0" : "-1");

  function move(to: HTMLElement | null | undefined): boolean {
    if (!to) return false;
    current.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    current = to;
    to.focus();
    return true;
  }
  // Finds the next control in a direction and skips places without one.
  function step(row: number, column: number, down: number, right: number): boolean {
    let [y, x] = [row + down, column + right];
    while (places[y] !== undefined && x >= 0 && x < places[y].length) {
      if (move(places[y][x])) return true;
      y += down;
      x += right;
    }
    return false;
  }

  container.addEventListener("focusin", (event) => {
    const place = all.find((one) => one === event.target);
    if (place === undefined || place === current) return;
    current.setAttribute("tabindex", "-1");
    place.setAttribute("tabindex", "0");
    current = place;
  });
  container.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.shiftKey) return;
    const row = places.findIndex((line) => line.includes(event.target as HTMLElement));
    if (row < 0) return;
    const line = places[row];
    const column = line.indexOf(event.target as HTMLElement);
    const there = line.filter((place) => place !== null);
    const moves: Record<string, () => boolean> = {
      ArrowRight: () => step(row, column, 0, 1),
      ArrowLeft: () => step(row, column, 0, -1),
      ArrowDown: () => step(row, column, 1, 0),
      ArrowUp: () => step(row, column, -1, 0),
      Home: () => move(event.ctrlKey ? all[0] : there[0]),
      End: () => move(event.ctrlKey ? all.at(-1) : there.at(-1)),
    };
    const act = moves[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}
