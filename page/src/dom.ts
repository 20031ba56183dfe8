// Builds elements from text and attributes. Strings are never parsed as HTML.

export type Child = Node | string | number | null | undefined | false | readonly Child[];
type Handler = (event: any) => void;
type Value = string | number | boolean | null | undefined | Handler | Record<string, string>;
export type Attributes = Record<string, Value>;

function append(parent: Node, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) {
    for (const one of child as readonly Child[]) append(parent, one);
  } else {
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// Attributes: `onclick` and other handlers are functions, `style` is an object of properties, and
// true gives an attribute without a value. null, undefined and false are left out.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (typeof value === "object") {
      for (const [property, text] of Object.entries(value))
        element.style.setProperty(property, text);
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// Text for screen readers only.
export function hidden(text: string): HTMLElement {
  return h("span", { class: "hidden" }, text);
}

// A box that scrolls on its own, so that a wide table does not widen the page.
export function scrolling(label: string, ...children: Child[]): HTMLElement {
  const attributes = { class: "scrolling", tabindex: 0, role: "group", "aria-label": label };
  return h("div", attributes, children);
}

export function short(text: string, most = 200): string {
  return text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
}

// A name that may wrap only after "/" and "_".
export function breakable(name: string): Child {
  return name.split(/(?<=[/_])/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}

// A long text: its start, and a button for the rest.
export function clipped(text: string, most = 400): HTMLElement {
  if (text.length <= most) return h("span", { class: "text" }, text);
  const shown = h("span", { class: "text" }, short(text, most));
  const button: HTMLButtonElement = h("button", {
    type: "button",
    class: "small",
    onclick: () => {
      const all = button.getAttribute("aria-expanded") !== "true";
      shown.textContent = all ? text : short(text, most);
      shown.className = all ? "text long" : "text";
      shown.tabIndex = all ? 0 : -1; // a long text scrolls and needs focus for that
      button.textContent = all ? "Show less" : label;
      button.setAttribute("aria-expanded", String(all));
    },
  });
  const label = `Show all ${text.length.toLocaleString("en")} characters`;
  button.textContent = label;
  button.setAttribute("aria-expanded", "false");
  return h("span", null, shown, " ", button);
}

// Copies with the clipboard API. A page opened from a file may lack it, so a selected text area is
// the fallback.
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "off-screen", "aria-hidden": "true", tabindex: -1 });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

// A shell command on one line, with a button that copies it.
export function command(text: string, what: string): HTMLElement {
  const said = h("span", { role: "status", class: "said" });
  const button: HTMLButtonElement = h("button", {
    type: "button",
    class: "copy",
    "aria-label": `Copy ${what}`,
    onclick: async () => {
      const copied = await copy(text);
      button.focus();
      said.textContent = copied ? "Copied." : "Not copied: select the line and copy it.";
      setTimeout(() => (said.textContent = ""), 4000);
    },
  }, "Copy");
  return h("div", { class: "command" },
    h("code", { class: "command-text" }, text), button, said);
}

// An empty panel: why it is empty, and the command that fills it.
export function empty(why: string, remedy = ""): HTMLElement {
  return h("div", { class: "empty" }, h("p", null, why),
    remedy !== "" && command(remedy, "the command that fills this"));
}

let last_id = 0;
export function fresh_id(prefix: string): string {
  return `${prefix}-${++last_id}`;
}
