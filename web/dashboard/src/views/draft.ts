// What forms hold before it is sent: text, as typed.

export interface BackendDraft {
  name: string;
  address: string;
  port: string;
  weight: string;
}

export interface VIPDraft {
  name: string;
  address: string;
  protocol: string;
  port: string;
  mode: string;
  scheduler: string;
  reject?: string;
  health?: string;
  backends: BackendDraft[];
}

/** A number if it is one; else as typed, so that the server says what is wrong with it. */
export function number(text: string): number | string {
  const t = text.trim();
  return /^-?\d+$/.test(t) ? Number(t) : t;
}

/** The body that adds a backend. What is empty is left out. */
export function backendOf(b: BackendDraft): Record<string, unknown> {
  const out: Record<string, unknown> = { name: b.name.trim(), address: b.address.trim() };
  if (b.port.trim() !== "") out.port = number(b.port);
  if (b.weight.trim() !== "") out.weight = number(b.weight);
  return out;
}

/** The body that creates a VIP. Backends without an address are rows left empty. */
export function vipOf(v: VIPDraft): Record<string, unknown> {
  const out: Record<string, unknown> = {
    name: v.name.trim(),
    address: v.address.trim(),
    protocol: v.protocol,
    port: v.port.trim(),
    backends: v.backends.filter((b) => b.address.trim()).map(backendOf),
  };
  if (v.mode) out.mode = v.mode;
  if (v.mode === "nat" && v.scheduler) out.scheduler = v.scheduler;
  if (v.reject) out.reject = v.reject;
  if (v.health) out.health = { type: v.health };
  return out;
}
