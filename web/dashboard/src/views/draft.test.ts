import { expect, it } from "vitest";
import { number, vipOf } from "./draft";

const b = { name: "b1", address: "10.0.0.1", port: "", weight: "1" };

it("what is no number stays as it was typed, and nothing is not 0", () => {
  expect(["3", " 0 ", "", "x", "1e2", "-1", "2.5"].map(number)).toEqual([3, 0, "", "x", "1e2", -1, "2.5"]);
});

it("a form becomes what the API takes", () => {
  expect(
    vipOf({
      name: " web ",
      address: "10.0.0.100",
      protocol: "tcp",
      port: "80",
      mode: "nat",
      scheduler: "round-robin",
      reject: "drop",
      health: "tcp",
      backends: [b, { ...b, name: "b2", address: " " }, { ...b, name: "b3", port: "8080", weight: "x" }],
    }),
  ).toEqual({
    name: "web",
    address: "10.0.0.100",
    protocol: "tcp",
    port: "80",
    mode: "nat",
    scheduler: "round-robin",
    reject: "drop",
    health: { type: "tcp" },
    backends: [
      { name: "b1", address: "10.0.0.1", weight: 1 },
      { name: "b3", address: "10.0.0.1", port: 8080, weight: "x" },
    ],
  });
  expect(vipOf({ name: "a", address: "", protocol: "udp", port: "", mode: "", scheduler: "round-robin", backends: [] })).toEqual({
    name: "a",
    address: "",
    protocol: "udp",
    port: "",
    backends: [],
  });
});
