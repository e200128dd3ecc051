import type { VIP } from "../api";

/** The parameters of a write: one to a VIP of the configuration file needs force. */
export function force(v: VIP): { force?: boolean } {
  return v.origin === "file" ? { force: true } : {};
}

export function fileWarning(v: VIP): string {
  return v.origin === "file" ? "It is declared in the configuration file: this holds until that list changes." : "";
}
