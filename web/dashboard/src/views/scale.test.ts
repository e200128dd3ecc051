import { expect, test } from "vitest";
import { significant } from "../format";
import { decades, jitter, place, signed } from "./scale";

test("numbers of tests", () => {
  expect([19.2534, 0.0499, 8e-7, 0, 123456, null].map(significant)).toEqual(["19.3", "0.0499", "8.0e-7", "0", "123000", "–"]);
  expect([0.25, -0.5, 0].map(signed)).toEqual(["+25 %", "−50 %", "+0 %"]);
});

test("a logarithmic scale", () => {
  const s = decades([0.02, 350, 0], { from: -1, to: 1 });
  expect(s).toEqual({ from: -2, to: 3 });
  expect([0.01, 1000, 0, 1e9].map((v) => place(v, s))).toEqual([0, 1, 0, 1]);
  expect(place(1, { from: -1, to: 1 })).toBe(0.5);
  expect(decades([1e-300], { from: -3, to: 0 }).from).toBe(-12);
});

test("dots are spread, and stay where they are", () => {
  const all = Array.from({ length: 60 }, (_, i) => jitter(i));
  expect(Math.min(...all)).toBeGreaterThanOrEqual(-0.5);
  expect(Math.max(...all)).toBeLessThan(0.5);
  expect(new Set(all.map((v) => v.toFixed(3))).size).toBe(60);
});
