// Plots over time, by uPlot, and small ones by hand.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { means, span, type Points } from "../series";
import { now, ticks } from "../live";
import { dark, token } from "./theme";

export interface Line {
  label: string;
  /** A custom property of the theme. */
  color: string;
  fill?: boolean;
  dash?: number[];
}

interface PlotProps {
  label: string;
  data: Points;
  lines: Line[];
  format: (v: number | null | undefined) => string;
  height?: number;
  /** Seconds shown; they end now. Left out: as many as there is something of. */
  seconds?: number;
  /** What the scale reaches at least. */
  least?: number;
}

/** A plot of what was in the last minutes. It draws itself anew at each tick, while it can be seen. */
export function Plot({ label, data, lines, format, height = 120, seconds, least = 1 }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const names = lines.map((l) => l.label).join("\n");
  useEffect(() => {
    const el = box.current!;
    let plot: uPlot | null = null;
    let seen = false;
    let drawn = data; // its means over some seconds
    const draw = () => {
      if (!seen) return;
      const width = Math.max(80, Math.floor(el.clientWidth));
      if (!plot) {
        el.replaceChildren();
        plot = new uPlot(
          options(width, height, lines, format, (i) => say(legend.current, i === null ? data : drawn, lines, format, i)),
          [[]],
          el,
        );
      } else if (plot.width !== width) {
        plot.setSize({ width, height });
      }
      const end = now.peek(),
        shown = seconds ?? extent(data, end);
      drawn = means(data, Math.round(shown / 180));
      plot.setData([drawn.t, ...drawn.v.slice(0, lines.length)] as uPlot.AlignedData, false);
      plot.batch(() => {
        plot!.setScale("x", { min: end - shown, max: end });
        const top = highest(drawn, lines.length, end - shown, least);
        plot!.setScale("y", { min: 0, max: top });
      });
      if (plot.cursor.idx === null || plot.cursor.idx === undefined) say(legend.current, data, lines, format, null);
    };
    const remake = () => {
      plot?.destroy();
      plot = null;
      draw();
    };
    const visible = new IntersectionObserver((entries) => {
      seen = entries[entries.length - 1]!.isIntersecting;
      draw();
    });
    visible.observe(el);
    const sized = new ResizeObserver(draw);
    sized.observe(el);
    const offTicks = ticks.subscribe(draw);
    let first = true;
    const offTheme = dark.subscribe(() => {
      if (!first) remake();
      first = false;
    });
    return () => {
      visible.disconnect();
      sized.disconnect();
      offTicks();
      offTheme();
      plot?.destroy();
    };
  }, [data, names, height, seconds, least]);
  return (
    <figure class="plot">
      <div class="plot-legend" ref={legend}>
        {lines.map((l) => (
          <span key={l.label}>
            <i class={`dot ${l.color}`} aria-hidden="true" />
            {l.label} <b class="num">–</b>
          </span>
        ))}
        <em class="plot-when" />
      </div>
      <div class="plot-box" ref={box} role="img" aria-label={label} style={{ height: `${height}px` }} />
    </figure>
  );
}

/** Writes the values at an index, or the last ones, into the legend. As text: what is in it may come from the network. */
function say(legend: HTMLElement | null, data: Points, lines: Line[], format: PlotProps["format"], index: number | null) {
  if (!legend) return;
  const i = index ?? data.t.length - 1;
  legend.querySelectorAll("b").forEach((b, k) => {
    if (k < lines.length) b.textContent = format(data.v[k]?.[i] ?? null);
  });
  const when = legend.querySelector("em");
  if (when) when.textContent = index === null ? "" : new Date((data.t[index] ?? 0) * 1000).toLocaleTimeString("en-GB");
}

/** How much of the past there is something of: 2, 5 or 15 minutes. */
export function extent(data: Points, end: number): number {
  const i = data.t.findIndex((_, k) => data.v.some((v) => v[k] !== null));
  const past = i < 0 ? 0 : end - data.t[i]!;
  return past <= 115 ? 120 : past <= 290 ? 300 : span;
}

/** The highest value shown, rounded up to a 1, 2 or 5. */
function highest(data: Points, n: number, from: number, least: number): number {
  let top = least;
  for (let k = 0; k < n; k++) {
    const v = data.v[k]!;
    for (let i = v.length - 1; i >= 0 && data.t[i]! >= from; i--) top = Math.max(top, v[i] ?? 0);
  }
  return nice(top);
}

export function nice(top: number): number {
  if (!(top > 1)) return 1;
  const size = 10 ** Math.floor(Math.log10(top));
  for (const step of [1, 2, 5, 10]) if (top <= step * size) return step * size;
  return 10 * size;
}

function options(
  width: number,
  height: number,
  lines: Line[],
  format: PlotProps["format"],
  hover: (i: number | null) => void,
): uPlot.Options {
  const grid = token("--line");
  const text = token("--muted");
  const font = "11px InterVariable, system-ui, sans-serif";
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { time: true, auto: false }, y: { auto: false } },
    padding: [8, 14, 0, 0],
    axes: [
      {
        stroke: text,
        font,
        grid: { show: false },
        ticks: { show: false },
        size: 22,
        space: 70,
        values: (_u, times) => times.map((t) => new Date(t * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })),
      },
      {
        stroke: text,
        font,
        grid: { stroke: grid, width: 1 },
        ticks: { show: false },
        size: 62,
        space: 32,
        splits: (u) => {
          const top = u.scales.y!.max ?? 1;
          return height < 100 ? [0, top] : [0, top / 2, top];
        },
        values: (_u, values) => values.map((v) => format(v)),
      },
    ],
    series: [
      {},
      ...lines.map((l) => {
        const color = token(`--${l.color}`);
        return {
          label: l.label,
          stroke: color,
          width: 1.5,
          points: { show: false },
          spanGaps: false,
          dash: l.dash,
          fill: l.fill ? color + "22" : undefined,
        };
      }),
    ],
    hooks: { setCursor: [(u) => hover(u.cursor.idx ?? null)] },
  };
}

/** A small line without axes: the last minutes, in as many steps as there is room for. */
export function Spark({ values, color = "accent", label }: { values: (number | null)[]; color?: string; label: string }) {
  const w = 120,
    h = 36,
    size = Math.max(1, Math.ceil(values.length / w));
  const means: (number | null)[] = [];
  for (let i = values.length % size; i + size <= values.length; i += size) {
    const some = values.slice(i, i + size).filter((v) => v !== null);
    means.push(some.length ? some.reduce((a, b) => a + b, 0) / some.length : null);
  }
  const top = Math.max(1, ...means.map((v) => v ?? 0));
  let d = "",
    pen = false;
  means.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    const x = (w * (i + 1)) / means.length,
      y = h - 2 - ((h - 5) * v) / top;
    d += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return (
    <svg class={`spark ${color}`} viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={`M0 ${h - 0.5}H${w}`} stroke="var(--line)" vector-effect="non-scaling-stroke" />
      <path d={d} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
