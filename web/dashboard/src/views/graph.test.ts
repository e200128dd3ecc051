import { expect, it, vi } from "vitest";

vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("addEventListener", () => {});
const { build, width } = await import("./graph");

it("the network becomes nodes and edges", () => {
  const sw = (dpid: string, connected: boolean) => ({ dpid, connected, problems: [] }) as never;
  const link = { a: { dpid: "1", port_no: 2 }, b: { dpid: "2", port_no: 3 }, a_to_b_bps: 5, b_to_a_bps: 2e6 };
  const host = (mac: string, address: string, live: boolean) => ({ mac, addresses: [address], dpid: "1", port_no: 1, live });
  const vip = {
    name: "web",
    backends: [{ name: "b1", address: "10.0.0.1" }],
    status: { backends: [{ name: "b1", state: "down" }] },
  } as never;
  const all = [host("m1", "10.0.0.1", true), host("m2", "10.0.0.2", false)];
  const g = build([sw("1", true), sw("2", false)], [link], all, [vip], true, true, () => "x");
  expect(g.nodes.map((n) => [n.id, n.kind, n.state, n.label])).toEqual([
    ["1", "switch", "ready", "switch 1"],
    ["2", "switch", "away", "switch 2 (away)"],
    ["m1", "backend", "down", "web/b1\n10.0.0.1"],
    ["m2", "host", "silent", "10.0.0.2"],
  ]);
  expect(g.edges.map((e) => [e.source, e.target, e.load])).toEqual([
    ["1", "2", 2e6],
    ["1", "m1", 0],
    ["1", "m2", 0],
  ]);
  const behind = {
    name: "far",
    backends: [{ name: "b1", address: "10.8.0.5" }],
    status: { backends: [{ name: "b1", state: "up", via: "10.0.0.2" }] },
  } as never;
  const gateway = build([sw("1", true)], [], all, [behind], false, true, () => "x");
  expect(gateway.nodes.map((n) => [n.id, n.label])).toEqual([
    ["1", "switch 1"],
    ["m2", "far/b1\n10.0.0.2"],
  ]);
  const less = build([sw("1", true)], [link], all, [vip], false, true, () => "x");
  expect(less.nodes.map((n) => n.id)).toEqual(["1", "m1"]); // backends stay, links to what is not there go
  expect(less.edges.length).toBe(1);
  expect(build([sw("1", true)], [link], all, [vip], false, false, () => "x").nodes.map((n) => n.id)).toEqual(["1"]);
  expect(less.shape).not.toBe(g.shape);
  expect(width(1e9)).toBeGreaterThan(width(1e6));
});
