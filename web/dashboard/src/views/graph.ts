// The network as nodes and edges, apart from how it is drawn.
import type { Host, LiveLink, LiveSwitch, VIP } from "../api";
import { dpidParts } from "../format";
import { linkKey } from "../live";

export interface GraphNode {
  id: string;
  label: string;
  kind: "switch" | "host" | "backend";
  state: string;
  /** Of its box, to hold the label. */
  size: number;
}

export interface GraphEdge {
  id: string;
  source: string;
  target: string;
  kind: "link" | "access";
  load: number;
  label: string;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Changes when nodes or edges come or go. */
  shape: string;
}

interface Role {
  vip: string;
  backend: string;
  state: string;
}

/** What backends are reached at an address: their own or, of those behind a gateway, that one's. */
export function roles(vips: VIP[]): Map<string, Role[]> {
  const out = new Map<string, Role[]>();
  for (const v of vips) {
    const status = new Map(v.status.backends.map((b) => [b.name, b]));
    for (const b of v.backends) {
      const s = status.get(b.name);
      const at = s?.via ?? b.address;
      const list = out.get(at) ?? [];
      list.push({ vip: v.name, backend: b.name, state: s?.state ?? "unknown" });
      out.set(at, list);
    }
  }
  return out;
}

export function build(
  switches: LiveSwitch[],
  links: LiveLink[],
  hosts: Host[],
  vips: VIP[],
  showHosts: boolean,
  showBackends: boolean,
  rate: (l: LiveLink) => string,
): Graph {
  const nodes: GraphNode[] = switches.map((s) => ({
    id: s.dpid,
    label: "switch " + dpidParts(s.dpid)[1] + (s.connected ? "" : " (away)"),
    kind: "switch",
    size: 26 + 7 * (7 + dpidParts(s.dpid)[1].length + (s.connected ? 0 : 7)),
    state: !s.connected ? "away" : s.problems.length > 0 ? "problem" : "ready",
  }));
  const there = new Set(nodes.map((n) => n.id));
  const edges: GraphEdge[] = links
    .filter((l) => there.has(l.a.dpid) && there.has(l.b.dpid))
    .map((l) => ({
      id: linkKey(l),
      source: l.a.dpid,
      target: l.b.dpid,
      kind: "link",
      load: Math.max(l.a_to_b_bps, l.b_to_a_bps),
      label: rate(l),
    }));
  const of = roles(vips);
  for (const h of hosts) {
    const own = h.addresses.flatMap((a) => of.get(a) ?? []);
    if (!(own.length > 0 ? showBackends : showHosts) || !there.has(h.dpid)) continue;
    const names =
      own
        .slice(0, 2)
        .map((r) => `${r.vip}/${r.backend}`)
        .join(", ") + (own.length > 2 ? ", …" : "");
    nodes.push({
      id: h.mac,
      label: [names, h.addresses[0] ?? h.mac].filter(Boolean).join("\n"),
      kind: own.length > 0 ? "backend" : "host",
      size: 0,
      state: own[0]?.state ?? (h.live ? "live" : "silent"),
    });
    edges.push({ id: "at " + h.mac, source: h.dpid, target: h.mac, kind: "access", load: 0, label: "" });
  }
  return { nodes, edges, shape: [...nodes.map((n) => n.id), ...edges.map((e) => e.id + e.target + e.source)].sort().join(" ") };
}

/** The width of a line by its load in bit/s: 1.5 at rest, some 9 at 10 Gbit/s. */
export function width(load: number): number {
  return load < 1000 ? 1.5 : 1.5 + (Math.log10(load) - 3) * 1.1;
}
