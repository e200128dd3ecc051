// Light, dark, or as the system is.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const key = "evenflow.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

function stored(): Theme {
  try {
    const t = localStorage.getItem(key);
    return t === "light" || t === "dark" ? t : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(stored());
/** What is shown now. */
export const dark = signal(false);

effect(() => {
  dark.value = theme.value === "dark" || (theme.value === "auto" && systemDark.value);
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  try {
    localStorage.setItem(key, theme.value);
  } catch {
    // storage is off: the choice lives as long as the page
  }
});

export function nextTheme() {
  theme.value = theme.value === "auto" ? "light" : theme.value === "light" ? "dark" : "auto";
}

/** The value of a custom property of the present theme. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
