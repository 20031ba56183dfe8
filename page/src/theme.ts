// The theme: the system's, until the user chooses one.
import { h } from "./dom.ts";

const key = "plumbline-theme";
const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

// A page opened from a file may have no storage.
function stored(): Theme {
  try {
    const text = localStorage.getItem(key);
    return themes.find((theme) => theme === text) ?? "auto";
  } catch {
    return "auto";
  }
}

function apply(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

export function theme_button(): HTMLElement {
  let theme = stored();
  document.documentElement.dataset.theme = theme;
  const text = () => `Theme: ${theme}`;
  const button: HTMLButtonElement = h("button", {
    type: "button",
    class: "theme",
    title: "Light, dark, or as the system says",
    onclick: () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      apply(theme);
      button.textContent = text();
    },
  }, text());
  return button;
}
