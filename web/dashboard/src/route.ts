// Which page is shown, from the part of the address after #.
import { computed, signal } from "@preact/signals";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
  document.getElementById("main")?.scrollTo(0, 0);
  scrollTo(0, 0);
});

/** The parts of the path: "#/switches/1/flows" → ["switches", "1", "flows"]. */
export const path = computed(() => split(hash.value));

export function split(h: string): string[] {
  return h
    .replace(/^#?\/?/, "")
    .split("/")
    .filter(Boolean)
    .map(decode);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A link to a page: href("vips", name). */
export function href(...parts: string[]): string {
  return "#/" + parts.map(encodeURIComponent).join("/");
}

export function go(...parts: string[]) {
  location.hash = href(...parts);
}
