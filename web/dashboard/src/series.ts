// Values over time, and rates from counters.

/** How many seconds of anything are kept. */
export const span = 900;

/** A series with a time for each value, in seconds since 1970. null: nothing is known. */
export interface Points {
  t: number[];
  v: (number | null)[][];
}

export function points(width: number): Points {
  return { t: [], v: Array.from({ length: width }, () => []) };
}

/** Adds values at a time. A hole of some seconds is shown as one; what is older than `span` goes. */
export function append(p: Points, t: number, values: (number | null)[]) {
  const last = p.t[p.t.length - 1];
  if (last !== undefined && t <= last) return;
  if (last !== undefined && t - last > 3)
    push(
      p,
      t - 1,
      values.map(() => null),
    );
  push(p, t, values);
  let old = 0;
  while (old < p.t.length && p.t[old]! < t - span) old++;
  if (old > 0) {
    p.t.splice(0, old);
    for (const v of p.v) v.splice(0, old);
  }
}

/** Puts the server's memory before what is known: values a second apart, the last at `end`. */
export function recall(p: Points, end: number, values: (number | null)[][]) {
  const first = p.t[0] ?? Infinity;
  const n = values[0]?.length ?? 0;
  const t: number[] = [];
  const v: (number | null)[][] = values.map(() => []);
  for (let i = 0; i < n; i++) {
    const at = end - (n - 1) + i;
    if (at >= first - 0.5) break;
    t.push(at);
    values.forEach((x, k) => v[k]!.push(x[i] ?? null));
  }
  p.t.unshift(...t);
  p.v.forEach((x, k) => x.unshift(...(v[k] ?? t.map(() => null))));
}

/** The means over steps of so many seconds, which begin at the same times whenever one looks. */
export function means(p: Points, step: number): Points {
  if (step <= 1) return p;
  const out = points(p.v.length);
  const sums = p.v.map(() => 0);
  const counts = p.v.map(() => 0);
  p.t.forEach((t, i) => {
    p.v.forEach((v, k) => {
      if (v[i] === null || v[i] === undefined) return;
      sums[k]! += v[i];
      counts[k]!++;
    });
    const last = i === p.t.length - 1 || Math.floor(p.t[i + 1]! / step) !== Math.floor(t / step);
    if (!last) return;
    out.t.push(t);
    out.v.forEach((v, k) => v.push(counts[k] ? sums[k]! / counts[k]! : null));
    sums.fill(0);
    counts.fill(0);
  });
  return out;
}

function push(p: Points, t: number, values: (number | null)[]) {
  p.t.push(t);
  values.forEach((v, i) => p.v[i]!.push(v));
}

/** The rate of a counter from reading to reading. A counter that falls has begun anew. */
export class Rate {
  private value: number | undefined;
  private at = 0;
  rate: number | null = null;

  read(at: number, value: number): number | null {
    const before = this.value;
    const took = at - this.at;
    if (before !== undefined && took <= 0) return this.rate;
    this.rate = before === undefined || value < before || took > 10 ? null : (value - before) / took;
    this.value = value;
    this.at = at;
    return this.rate;
  }
}

/** Rates of many counters by name. */
export class Rates {
  private all = new Map<string, Rate>();

  read(name: string, at: number, value: number): number | null {
    let r = this.all.get(name);
    if (!r) this.all.set(name, (r = new Rate()));
    return r.read(at, value);
  }

  get(name: string): number | null {
    return this.all.get(name)?.rate ?? null;
  }

  /** Forgets all but these. */
  keep(names: Set<string>) {
    for (const name of this.all.keys()) if (!names.has(name)) this.all.delete(name);
  }
}

export function sum(values: Iterable<number | null>): number | null {
  let total: number | null = null;
  for (const v of values) if (v !== null) total = (total ?? 0) + v;
  return total;
}

/** Counters over the last minutes, to tell how much was counted in a window. */
export class Window {
  private readings: { at: number; counts: Map<string, number> }[] = [];

  read(at: number, counts: Map<string, number>) {
    const last = this.readings[this.readings.length - 1];
    if (last && at - last.at < 0.5) return;
    this.readings.push({ at, counts });
    while (this.readings.length > 1 && this.readings[0]!.at < at - span) this.readings.shift();
  }

  /** How much each counter has grown in the last seconds, and how many seconds that were. */
  grown(seconds: number): { seconds: number; by: Map<string, number> } {
    const now = this.readings[this.readings.length - 1];
    const by = new Map<string, number>();
    if (!now) return { seconds: 0, by };
    const from = this.readings.find((r) => r.at >= now.at - seconds) ?? now;
    for (const [name, n] of now.counts) by.set(name, Math.max(0, n - (from.counts.get(name) ?? 0)));
    return { seconds: now.at - from.at, by };
  }
}
