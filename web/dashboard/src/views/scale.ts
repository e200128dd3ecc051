// Scales of the page about loads.
import { percent } from "../format";

export interface Scale {
  from: number;
  to: number;
}

/** Whole powers of ten around some values; what is 0 or less has no place. */
export function decades(values: number[], least: Scale): Scale {
  let { from, to } = least;
  for (const v of values) {
    if (!(v > 0)) continue;
    from = Math.min(from, Math.floor(Math.log10(v)));
    to = Math.max(to, Math.ceil(Math.log10(v)));
  }
  return { from: Math.max(from, -12), to: Math.min(to, 6) };
}

/** The height of a value, in [0,1]; 0 and less is at the bottom. */
export function place(v: number, s: Scale): number {
  const at = v > 0 ? Math.log10(v) : s.from;
  return (Math.min(Math.max(at, s.from), s.to) - s.from) / (s.to - s.from);
}

/** A small displacement of the i-th dot, the same each time, so that dots do not hide each other. */
export function jitter(i: number): number {
  return ((i * 0.618034) % 1) - 0.5;
}

/** 0.25 → "+25 %" */
export function signed(part: number): string {
  return (part < 0 ? "−" : "+") + percent(Math.abs(part));
}
