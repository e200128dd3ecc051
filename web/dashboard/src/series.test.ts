import { describe, expect, it } from "vitest";
import { append, means, points, recall, Rate, Rates, span, sum, Window } from "./series";

describe("a rate", () => {
  it("is over measured time", () => {
    const r = new Rate();
    expect(r.read(10, 100)).toBeNull();
    expect(r.read(12, 300)).toBe(100);
    expect(r.read(12, 300)).toBe(100); // the same reading again
    expect(r.read(13, 300)).toBe(0);
  });
  it("is unknown where the counter began anew, or was not read for long", () => {
    const r = new Rate();
    r.read(10, 100);
    expect(r.read(11, 5)).toBeNull();
    expect(r.read(12, 15)).toBe(10);
    expect(r.read(40, 99)).toBeNull();
  });
  it("of a name that is gone is forgotten", () => {
    const all = new Rates();
    all.read("a", 1, 0);
    all.read("a", 2, 7);
    expect(all.get("a")).toBe(7);
    all.keep(new Set(["b"]));
    expect(all.get("a")).toBeNull();
  });
});

describe("points", () => {
  it("show holes, take no time twice and go when they are old", () => {
    const p = points(1);
    append(p, 1, [10]);
    append(p, 2, [20]);
    append(p, 2, [99]);
    append(p, 9, [30]);
    expect(p).toEqual({ t: [1, 2, 8, 9], v: [[10, 20, null, 30]] });
    append(p, span + 9, [40]);
    expect(p.t).toEqual([9, span + 8, span + 9]);
    expect(p.v[0]).toEqual([30, null, 40]);
  });
});

it("the server's memory comes before what is known", () => {
  const p = points(2);
  append(p, 10, [1, 2]);
  recall(p, 11, [
    [5, 6, null, 8],
    [1, 1, 1, 1],
  ]);
  expect(p).toEqual({
    t: [8, 9, 10],
    v: [
      [5, 6, 1],
      [1, 1, 2],
    ],
  });
  const q = points(1);
  recall(q, 3, [[1, 2]]);
  expect(q).toEqual({ t: [2, 3], v: [[1, 2]] });
});

it("means are over steps that stay", () => {
  const p = { t: [9, 10, 11, 14, 15, 16], v: [[1, 2, 4, null, null, 8]] };
  expect(means(p, 5)).toEqual({ t: [9, 14, 16], v: [[1, 3, 8]] });
  expect(means({ t: [10, 11], v: [[null, null]] }, 5)).toEqual({ t: [11], v: [[null]] });
  expect(means(p, 1)).toBe(p);
});

it("a sum leaves out what is unknown", () => {
  expect(sum([])).toBeNull();
  expect(sum([null, null])).toBeNull();
  expect(sum([1, null, 2])).toBe(3);
});

describe("a window", () => {
  it("counts what has grown in it", () => {
    const w = new Window();
    for (let t = 0; t <= 100; t++)
      w.read(
        t,
        new Map([
          ["a", 2 * t],
          ["b", t < 95 ? 0 : 5],
        ]),
      );
    expect(w.grown(60)).toEqual({
      seconds: 60,
      by: new Map([
        ["a", 120],
        ["b", 5],
      ]),
    });
    expect(w.grown(1e6).seconds).toBe(100);
  });
  it("takes a counter that began anew as not grown", () => {
    const w = new Window();
    w.read(0, new Map([["a", 50]]));
    w.read(1, new Map([["a", 3]]));
    expect(w.grown(60).by.get("a")).toBe(0);
  });
});
