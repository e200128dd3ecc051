// The picture of the network, by cytoscape.
import cytoscape from "cytoscape";
import { useEffect, useRef } from "preact/hooks";
import { go } from "../route";
import { dark, token } from "../ui/theme";
import { width, type Graph } from "./graph";
import { fit, lay, places } from "./layout";

export function Picture({
  graph,
  label,
  chosen,
  choose,
}: {
  graph: Graph;
  label: string;
  chosen: string | null;
  choose: (id: string | null) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const cy = useRef<cytoscape.Core | null>(null);
  const shape = useRef("");
  useEffect(() => {
    const c = (cy.current = cytoscape({
      container: box.current!,
      style: styles(),
      minZoom: 0.05,
      maxZoom: 2.5,
      boxSelectionEnabled: false,
    }));
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
        <button type="button" class="button small" onClick={() => zoom(1.25)} aria-label="Closer">
          +
        </button>
        <button type="button" class="button small" onClick={() => zoom(0.8)} aria-label="Farther">
          −
        </button>
        <button type="button" class="button small" onClick={() => fit(cy.current!)}>
          Fit
        </button>
        <button
          type="button"
          class="button small"
          onClick={() => {
            places.clear();
            lay(cy.current!, graph, true);
          }}
        >
          Lay out anew
        </button>
      </div>
      <ul class="picture-key" aria-label="Key">
        <li>
          <i class="key switch" />
          switch
        </li>
        <li>
          <i class="key backend" />
          backend
        </li>
        <li>
          <i class="key host" />
          host
        </li>
        <li>
          <i class="key away" />
          away or silent
        </li>
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

function styles(): cytoscape.StylesheetJson {
  const v = (name: string) => token("--" + name);
  const font = "InterVariable, system-ui, sans-serif";
  return [
    {
      selector: "node",
      style: {
        label: "data(label)",
        "font-family": font,
        "font-size": 11,
        "text-wrap": "wrap",
        "text-valign": "bottom",
        "text-margin-y": 6,
        "line-height": 1.25,
        color: v("muted"),
        "background-color": v("surface-2"),
        "border-width": 1.5,
        "border-color": v("faint"),
        width: 16,
        height: 16,
        "text-outline-width": 2,
        "text-outline-color": v("surface"),
        "overlay-opacity": 0,
        "min-zoomed-font-size": 7,
      },
    },
    {
      selector: "node[kind='switch']",
      style: {
        shape: "round-rectangle",
        width: "data(size)" as unknown as number,
        height: 32,
        "background-color": v("accent-solid"),
        "border-width": 0,
        color: "#fff",
        "font-size": 12,
        "font-weight": 600,
        "text-valign": "center",
        "text-margin-y": 0,
        "text-outline-width": 0,
      },
    },
    {
      selector: "node[kind='backend']",
      style: { shape: "diamond", width: 24, height: 24, "background-color": v("good"), "border-width": 0, color: v("text") },
    },
    {
      selector: "node[state='down'], node[state='unknown']",
      style: { "background-color": v("surface"), "border-color": v("bad"), "border-width": 2.5, "border-style": "dashed" },
    },
    {
      selector: "node[state='draining'], node[state='drained'], node[state='disabled']",
      style: { "background-color": v("surface"), "border-color": v("busy"), "border-width": 2.5 },
    },
    {
      selector: "node[state='away'], node[state='silent']",
      style: { "background-color": v("surface"), "border-color": v("bad"), "border-width": 2, "border-style": "dashed", color: v("text") },
    },
    { selector: "node[state='problem']", style: { "border-color": v("warn"), "border-width": 3 } },
    { selector: "edge", style: { width: 1.2, "line-color": v("line-strong"), "curve-style": "bezier", "overlay-opacity": 0 } },
    {
      selector: "edge[kind='link']",
      style: {
        width: "data(width)" as unknown as number,
        "line-color": v("faint"),
        label: "data(label)",
        "font-family": font,
        "font-size": 10,
        "text-wrap": "wrap",
        color: v("muted"),
        "text-background-color": v("surface"),
        "text-background-opacity": 0.92,
        "text-background-padding": "3px",
        "line-height": 1.3,
        "min-zoomed-font-size": 7,
      },
    },
    { selector: "edge[busy=1]", style: { "line-color": v("accent") } },
    { selector: ".chosen", style: { "overlay-color": v("accent"), "overlay-opacity": 0.18, "overlay-padding": 6 } },
  ] as unknown as cytoscape.StylesheetJson;
}
