// Numbers and times as people read them.

const group = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const none = "–";

/** 1234567 → "1,234,567" */
export function count(n: number | null | undefined): string {
  return n === null || n === undefined ? none : group.format(n);
}

const big = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

function scaled(n: number): [string, string] {
  for (const [size, letter] of big) if (n >= size * 0.9995) return [digits(n / size), letter];
  return [digits(n), ""];
}

function digits(n: number): string {
  if (Number.isInteger(n)) return String(n);
  if (n >= 99.95) return n.toFixed(0);
  if (n >= 9.995) return n.toFixed(1);
  return n.toFixed(n < 0.995 ? 2 : 1);
}

/** 1234567 → "1.2M" */
export function compact(n: number | null | undefined): string {
  if (n === null || n === undefined) return none;
  if (Number.isInteger(n) && n < 10000) return group.format(n);
  const [value, letter] = scaled(n);
  return value + letter;
}

/** 1234567 → "1.2 Mbit/s" */
export function bits(n: number | null | undefined): string {
  if (n === null || n === undefined) return none;
  const [value, letter] = scaled(n < 0.5 ? 0 : n);
  return `${value} ${letter}bit/s`;
}

/** 1234567 → "1.2 MB" */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return none;
  const [value, letter] = scaled(n);
  return `${value} ${letter}B`;
}

/** 12.34 → "12.3/s" */
export function perSecond(n: number | null | undefined): string {
  return n === null || n === undefined ? none : `${compact(n)}/s`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return none;
  const p = 100 * share;
  return `${p > 0 && p < 10 ? p.toFixed(1) : p.toFixed(0)} %`;
}

/** Three digits, and small numbers as powers of ten: 0.0000008 → "8.0e-7" */
export function significant(n: number | null | undefined): string {
  if (n === null || n === undefined) return none;
  if (n !== 0 && Math.abs(n) < 0.001) return n.toExponential(1);
  return String(Number(n.toPrecision(3)));
}

/** 125 → "2 min" */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return `${s} s`;
  if (s < 2 * 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

export function time(t: string | number): string {
  return new Date(t).toLocaleTimeString("en-GB");
}

export function dateTime(t: string | number): string {
  const d = new Date(t);
  return Number.isNaN(d.getTime()) ? none : `${d.toLocaleDateString("en-CA")} ${d.toLocaleTimeString("en-GB")}`;
}

/** Where the leading zeros of a datapath id end. */
export function dpidParts(dpid: string): [zeros: string, rest: string] {
  const rest = dpid.replace(/^0+(?=.)/, "");
  return [dpid.slice(0, dpid.length - rest.length), rest];
}

/** The number of something with its noun: "1 port", "2 ports". */
export function plural(n: number, noun: string, many = noun + "s"): string {
  return `${count(n)} ${n === 1 ? noun : many}`;
}
