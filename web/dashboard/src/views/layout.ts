// Where the nodes of the picture of the network are put.
import cytoscape from "cytoscape";
import fcose from "cytoscape-fcose";
import type { Graph } from "./graph";

cytoscape.use(fcose);

/** Where nodes were, so that the picture stays as it is when one comes back to it. */
export const places = new Map<string, cytoscape.Position>();
/** More hosts than these are shown only when asked for, and laid out around their switches. */
export const many = 150;

/** Finds places for what has none yet; whole: for all. */
export function lay(c: cytoscape.Core, graph: Graph, whole: boolean) {
  const known = graph.nodes.every((n) => places.has(n.id));
  if (known) {
    if (whole) fit(c);
    return;
  }
  const fixed = whole
    ? []
    : graph.nodes.filter((n) => n.kind === "switch" && places.has(n.id)).map((n) => ({ nodeId: n.id, position: places.get(n.id)! }));
  if (graph.nodes.length > many) {
    layMany(c);
    return;
  }
  const options = {
    name: "fcose",
    quality: "proof",
    animate: false,
    randomize: whole,
    padding: 36,
    nodeSeparation: 90,
    idealEdgeLength: (e: cytoscape.EdgeSingular) => (e.data("kind") === "link" ? 150 : 80),
    nodeRepulsion: () => 9000,
    fixedNodeConstraint: fixed.length > 0 ? fixed : undefined,
    uniformNodeDimensions: false,
  };
  c.layout(options as unknown as cytoscape.LayoutOptions).run();
  if (whole) turn(c);
  keep(c, whole);
}

/** Lays out the switches alone, and puts hosts on circles around theirs: a force for each of a thousand hosts takes minutes. */
function layMany(c: cytoscape.Core) {
  const switches = c.nodes("[kind='switch']");
  const most = Math.max(1, ...switches.map((s) => s.connectedEdges("[kind='access']").length));
  const radius = 60 + 9 * Math.min(most, 12);
  const options = {
    name: "fcose",
    quality: "proof",
    animate: false,
    randomize: true,
    nodeSeparation: 150,
    idealEdgeLength: () => 150,
    nodeRepulsion: () => 20000,
    fit: false,
  };
  switches
    .union(c.edges("[kind='link']"))
    .layout(options as unknown as cytoscape.LayoutOptions)
    .run();
  spread(switches, 2 * radius);
  switches.forEach((s) => {
    const hosts = s.connectedEdges("[kind='access']").targets();
    hosts.forEach((h, i) => {
      const ring = radius + 34 * Math.floor(i / 24),
        angle = (2 * Math.PI * (i % 24)) / Math.min(24, hosts.length);
      h.position({ x: s.position("x") + ring * Math.cos(angle), y: s.position("y") + ring * Math.sin(angle) });
    });
  });
  keep(c, true);
}

/** Moves nodes apart in proportion until the nearest two are so far from each other, within reason. */
function spread(nodes: cytoscape.NodeCollection, distance: number) {
  const at = nodes.map((n) => n.position());
  const near = at.map((p, i) => Math.min(...at.map((q, k) => (k === i ? Infinity : Math.hypot(p.x - q.x, p.y - q.y)))));
  near.sort((a, b) => a - b);
  const typical = near[Math.floor(near.length / 5)] ?? distance; // a few may overlap
  const by = Math.min(8, Math.max(1, distance / Math.max(1, typical)));
  nodes.forEach((n) => void n.position({ x: n.position("x") * by, y: n.position("y") * by }));
}

function keep(c: cytoscape.Core, whole: boolean) {
  c.nodes().forEach((n) => void places.set(n.id(), { ...n.position() }));
  if (whole) fit(c);
}

/** Lays the picture along the longer side of its frame. */
function turn(c: cytoscape.Core) {
  const box = c.elements().boundingBox();
  if (box.w > box.h === c.width() > c.height()) return;
  c.nodes().forEach((n) => void n.position({ x: n.position("y"), y: n.position("x") }));
}

/** Shows all, but no larger than life. */
export function fit(c: cytoscape.Core) {
  c.fit(undefined, c.width() < 500 ? 16 : 48);
  if (c.zoom() > 1.25) c.zoom(1.25);
  c.center();
}
