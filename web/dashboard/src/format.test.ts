import { describe, expect, it } from "vitest";
import { bits, bytes, compact, count, dpidParts, duration, percent, perSecond, plural } from "./format";

describe("formats", () => {
  it.each([
    [0, "0 bit/s"],
    [0.2, "0 bit/s"],
    [999, "999 bit/s"],
    [1000, "1 kbit/s"],
    [12345, "12.3 kbit/s"],
    [999_900, "1.0 Mbit/s"],
    [1.5e6, "1.5 Mbit/s"],
    [2.5e9, "2.5 Gbit/s"],
    [123e9, "123 Gbit/s"],
    [null, "–"],
  ])("bits %s", (n, want) => expect(bits(n)).toBe(want));
  it.each([
    [0, "0"],
    [9999, "9,999"],
    [12345, "12.3k"],
    [0.5, "0.50"],
    [1.25, "1.3"],
    [3e6, "3M"],
    [undefined, "–"],
  ])("compact %s", (n, want) => expect(compact(n)).toBe(want));
  it("the rest", () => {
    expect(count(1234567)).toBe("1,234,567");
    expect(bytes(1536)).toBe("1.5 kB");
    expect(perSecond(52.34)).toBe("52.3/s");
    expect([percent(0.25), percent(0.034), percent(0), percent(NaN)]).toEqual(["25 %", "3.4 %", "0 %", "–"]);
    expect([duration(-3), duration(59), duration(120), duration(7300), duration(2e5)]).toEqual(["0 s", "59 s", "2 min", "2 h", "2 d"]);
    expect(dpidParts("00000000000000ab")).toEqual(["00000000000000", "ab"]);
    expect(dpidParts("0000000000000000")).toEqual(["000000000000000", "0"]);
    expect([plural(1, "port"), plural(2, "switch", "switches")]).toEqual(["1 port", "2 switches"]);
  });
});
