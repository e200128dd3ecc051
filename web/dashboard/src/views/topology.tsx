import cytoscape from "cytoscape";
import fcose from "cytoscape-fcose";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, ask, type Host, type LiveLink } from "../api";
import { bits, count, plural } from "../format";
import { hosts, links, switches } from "../live";
import { go } from "../route";
import { Card, DPID, Empty, Loading, Page } from "../ui/parts";
import { useReading } from "../ui/reading";
import { Badge } from "../ui/state";
import { dark, token } from "../ui/theme";
import { build, roles, width, type Graph } from "./graph";

cytoscape.use(fcose);

/** Where nodes were, so that the picture stays as it is when one comes back to it. */
const places = new Map<string, cytoscape.Position>();
/** More hosts than these are shown only when asked for, and laid out around their switches. */
const many = 150;

export function Topology() {
  const vips = useReading(async () => (await ask(api.GET("/vips"))).items ?? [], "vips", 15000);
  const [withHosts, setWithHosts] = useState<boolean | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const s = switches.value, l = links.value, h = hosts.value;
  const few = (h?.size ?? 0) <= many;
  const show = withHosts ?? few;
  const graph = useMemo(() => (s && l && h ? build([...s.values()], [...l.values()], [...h.values()], vips.value ?? [], show, show || few, loadText) : null), [s, l, h, vips.value, show]);
  if (!s || !l || !h || !graph) return <Page title="Topology"><Loading what="the network" /></Page>;
  const lead = `${plural(s.size, "switch", "switches")}, ${plural(l.size, "link")}, ${plural(h.size, "host")}`;
  return (
    <Page title="Topology" lead={<span class="muted">{lead}</span>}
      actions={<label class="check"><input type="checkbox" checked={show} onChange={(e) => setWithHosts(e.currentTarget.checked)} />All hosts</label>}>
      {s.size === 0 ? <Card><Empty title="No switch has connected yet">The picture is drawn from what the switches tell.</Empty></Card> : (
        <>
          <Picture graph={graph} label={`The network: ${lead}. Links are listed below.`} chosen={chosen} choose={setChosen} />
          {chosen && <Chosen id={chosen} hosts={h} roles={roles(vips.value ?? [])} />}
          <Links links={[...l.values()]} />
        </>
      )}
    </Page>
  );
}

function loadText(l: LiveLink): string {
  return l.a_to_b_bps < 1000 && l.b_to_a_bps < 1000 ? "" : `${bits(l.a_to_b_bps)} →\n← ${bits(l.b_to_a_bps)}`;
}

function Picture({ graph, label, chosen, choose }: { graph: Graph; label: string; chosen: string | null; choose: (id: string | null) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const cy = useRef<cytoscape.Core | null>(null);
  const shape = useRef("");
  useEffect(() => {
    const c = (cy.current = cytoscape({ container: box.current!, style: styles(), minZoom: 0.05, maxZoom: 2.5, boxSelectionEnabled: false }));
    c.on("tap", (e) => choose(e.target === c ? null : (e.target.id() as string)));
    c.on("dbltap", "node[kind='switch']", (e) => go("switches", e.target.id()));
    c.on("position", "node", (e) => void places.set(e.target.id(), { ...e.target.position() }));
    const off = dark.subscribe(() => c.style(styles()));
    const sized = new ResizeObserver(() => c.resize());
    sized.observe(box.current!);
    return () => {
      off();
      sized.disconnect();
      c.destroy();
      cy.current = null;
      shape.current = "";
    };
  }, []);
  useEffect(() => {
    const c = cy.current!;
    c.batch(() => draw(c, graph));
    if (shape.current !== graph.shape) {
      const first = shape.current === "";
      shape.current = graph.shape;
      lay(c, graph, first);
    }
  }, [graph]);
  useEffect(() => {
    cy.current?.elements().removeClass("chosen");
    if (chosen) cy.current?.getElementById(chosen).addClass("chosen");
  }, [chosen, graph]);
  const zoom = (by: number) => {
    const c = cy.current!;
    c.zoom({ level: c.zoom() * by, renderedPosition: { x: c.width() / 2, y: c.height() / 2 } });
  };
  return (
    <section class="card flush picture-card">
      <div class="picture" ref={box} role="img" aria-label={label} />
      <div class="picture-tools">
        <button type="button" class="button small" onClick={() => zoom(1.25)} aria-label="Closer">+</button>
        <button type="button" class="button small" onClick={() => zoom(0.8)} aria-label="Farther">−</button>
        <button type="button" class="button small" onClick={() => fit(cy.current!)}>Fit</button>
        <button type="button" class="button small" onClick={() => { places.clear(); lay(cy.current!, graph, true); }}>Lay out anew</button>
      </div>
      <ul class="picture-key" aria-label="Key">
        <li><i class="key switch" />switch</li><li><i class="key backend" />backend</li><li><i class="key host" />host</li><li><i class="key away" />away or silent</li>
      </ul>
    </section>
  );
}

/** Brings the picture to what the graph is. What stays keeps its place. */
function draw(c: cytoscape.Core, graph: Graph) {
  const wanted = new Set([...graph.nodes, ...graph.edges].map((x) => x.id));
  c.elements().forEach((e) => {
    if (!wanted.has(e.id())) e.remove();
  });
  for (const n of graph.nodes) {
    const old = c.getElementById(n.id);
    if (old.nonempty()) old.data(n);
    else c.add({ group: "nodes", data: { ...n }, position: places.get(n.id) && { ...places.get(n.id)! } });
  }
  for (const e of graph.edges) {
    const data = { ...e, width: width(e.load), busy: e.load >= 1000 ? 1 : 0 };
    const old = c.getElementById(e.id);
    if (old.nonempty() && old.data("source") === e.source && old.data("target") === e.target) {
      old.data(data);
      continue;
    }
    old.remove();
    c.add({ group: "edges", data });
  }
}

function lay(c: cytoscape.Core, graph: Graph, whole: boolean) {
  const known = graph.nodes.every((n) => places.has(n.id));
  if (known) {
    if (whole) fit(c);
    return;
  }
  const fixed = whole ? [] : graph.nodes.filter((n) => n.kind === "switch" && places.has(n.id)).map((n) => ({ nodeId: n.id, position: places.get(n.id)! }));
  if (graph.nodes.length > many) {
    layMany(c);
    return;
  }
  const options = { name: "fcose", quality: "proof", animate: false, randomize: whole, padding: 36, nodeSeparation: 90, idealEdgeLength: (e: cytoscape.EdgeSingular) =>
    e.data("kind") === "link" ? 150 : 80, nodeRepulsion: () => 9000, fixedNodeConstraint: fixed.length > 0 ? fixed : undefined, uniformNodeDimensions: false };
  c.layout(options as unknown as cytoscape.LayoutOptions).run();
  if (whole) turn(c);
  keep(c, whole);
}

/** Lays out the switches alone, and puts hosts on circles around theirs: a force for each of a thousand hosts takes minutes. */
function layMany(c: cytoscape.Core) {
  const switches = c.nodes("[kind='switch']");
  const most = Math.max(1, ...switches.map((s) => s.connectedEdges("[kind='access']").length));
  const radius = 60 + 9 * Math.min(most, 12);
  const options = { name: "fcose", quality: "proof", animate: false, randomize: true, nodeSeparation: 150, idealEdgeLength: () => 150, nodeRepulsion: () => 20000, fit: false };
  switches.union(c.edges("[kind='link']")).layout(options as unknown as cytoscape.LayoutOptions).run();
  spread(switches, 2 * radius);
  switches.forEach((s) => {
    const hosts = s.connectedEdges("[kind='access']").targets();
    hosts.forEach((h, i) => {
      const ring = radius + 34 * Math.floor(i / 24), angle = (2 * Math.PI * (i % 24)) / Math.min(24, hosts.length);
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
function fit(c: cytoscape.Core) {
  c.fit(undefined, c.width() < 500 ? 16 : 48);
  if (c.zoom() > 1.25) c.zoom(1.25);
  c.center();
}

function styles(): cytoscape.StylesheetJson {
  const v = (name: string) => token("--" + name);
  const font = "InterVariable, system-ui, sans-serif";
  return [
    { selector: "node", style: { label: "data(label)", "font-family": font, "font-size": 11, "text-wrap": "wrap", "text-valign": "bottom", "text-margin-y": 6,
      "line-height": 1.25, color: v("muted"), "background-color": v("surface-2"), "border-width": 1.5, "border-color": v("faint"), width: 16, height: 16,
      "text-outline-width": 2, "text-outline-color": v("surface"), "overlay-opacity": 0, "min-zoomed-font-size": 7 } },
    { selector: "node[kind='switch']", style: { shape: "round-rectangle", width: "data(size)" as unknown as number, height: 32, "background-color": v("accent-solid"), "border-width": 0,
      color: "#fff", "font-size": 12, "font-weight": 600, "text-valign": "center", "text-margin-y": 0, "text-outline-width": 0 } },
    { selector: "node[kind='backend']", style: { shape: "diamond", width: 24, height: 24, "background-color": v("good"), "border-width": 0, color: v("text") } },
    { selector: "node[state='down'], node[state='unknown']", style: { "background-color": v("surface"), "border-color": v("bad"), "border-width": 2.5, "border-style": "dashed" } },
    { selector: "node[state='draining'], node[state='drained'], node[state='disabled']", style: { "background-color": v("surface"), "border-color": v("busy"), "border-width": 2.5 } },
    { selector: "node[state='away'], node[state='silent']", style: { "background-color": v("surface"), "border-color": v("bad"), "border-width": 2, "border-style": "dashed", color: v("text") } },
    { selector: "node[state='problem']", style: { "border-color": v("warn"), "border-width": 3 } },
    { selector: "edge", style: { width: 1.2, "line-color": v("line-strong"), "curve-style": "bezier", "overlay-opacity": 0 } },
    { selector: "edge[kind='link']", style: { width: "data(width)" as unknown as number, "line-color": v("faint"), label: "data(label)", "font-family": font, "font-size": 10, "text-wrap": "wrap",
      color: v("muted"), "text-background-color": v("surface"), "text-background-opacity": 0.92, "text-background-padding": "3px", "line-height": 1.3, "min-zoomed-font-size": 7 } },
    { selector: "edge[busy=1]", style: { "line-color": v("accent") } },
    { selector: ".chosen", style: { "overlay-color": v("accent"), "overlay-opacity": 0.18, "overlay-padding": 6 } },
  ] as unknown as cytoscape.StylesheetJson;
}

/** What is known of the node or link that was chosen. */
function Chosen({ id, hosts, roles: of }: { id: string; hosts: Map<string, Host>; roles: ReturnType<typeof roles> }) {
  const s = switches.value?.get(id);
  const l = links.value?.get(id);
  const h = hosts.get(id.replace(/^at /, ""));
  if (s) {
    return <Card title={<>Switch <DPID id={id} /></>} side={<Badge tone={s.connected ? "good" : "bad"}>{s.connected ? "connected" : "away"}</Badge>}>
      <p class="num">{s.ports_up} of {s.ports} ports up · received {bits(s.rx_bps)} · sent {bits(s.tx_bps)} · {count(s.rules)} rules</p></Card>;
  }
  if (l) return <Card title="Link"><p class="num"><End p={l.a} /> – <End p={l.b} /> · {bits(l.a_to_b_bps)} → · ← {bits(l.b_to_a_bps)}</p></Card>;
  if (h) {
    const own = h.addresses.flatMap((a) => of.get(a) ?? []);
    return <Card title={<>Host <span class="num">{h.mac}</span></>} side={<Badge tone={h.live ? "good" : "bad"}>{h.live ? "live" : "silent"}</Badge>}>
      <p class="num">{h.addresses.join(", ") || "no address heard"} · at <End p={{ dpid: h.dpid, port_no: h.port_no }} />
        {own.length > 0 && <> · backend of {own.map((r, i) => <span key={i}>{i > 0 && ", "}<a href={`#/vips/${encodeURIComponent(r.vip)}`}>{r.vip}/{r.backend}</a> ({r.state})</span>)}</>}</p></Card>;
  }
  return null;
}

function End({ p }: { p: { dpid: string; port_no: number } }) {
  return <><DPID id={p.dpid} /> port {p.port_no}</>;
}

function Links({ links }: { links: LiveLink[] }) {
  const sorted = [...links].sort((a, b) => Math.max(b.a_to_b_bps, b.b_to_a_bps) - Math.max(a.a_to_b_bps, a.b_to_a_bps)).slice(0, 100);
  return (
    <Card title="Links" flush>
      {sorted.length === 0 ? <Empty title="No link between switches">Links are found by LLDP within some seconds.</Empty> : (
        <div class="scroll" tabIndex={-1}>
          <table class="table stack">
            <thead><tr><th>From</th><th>To</th><th class="right">→</th><th class="right">←</th></tr></thead>
            <tbody>{sorted.map((l) => (
              <tr key={`${l.a.dpid}${l.a.port_no}${l.b.dpid}${l.b.port_no}`}>
                <th scope="row"><End p={l.a} /></th><td data-label="To"><End p={l.b} /></td><td data-label="→" class="right num">{bits(l.a_to_b_bps)}</td><td data-label="←" class="right num">{bits(l.b_to_a_bps)}</td>
              </tr>))}</tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
