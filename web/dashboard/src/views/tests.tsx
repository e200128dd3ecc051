// F and p of the last tests, on logarithmic scales: both run over many powers of ten.
import type { Imbalance } from "../api";
import { significant, time } from "../format";
import { Empty } from "../ui/parts";
import { decades, place, type Scale } from "./scale";

const width = 600,
  height = 110,
  left = 44,
  bottom = 18;

export function TestPlot({ r }: { r: Imbalance }) {
  const all = r.history ?? [];
  if (all.length === 0) return <Empty title="No test yet">{r.reason}</Empty>;
  return (
    <div class="columns even">
      <Course title="F" all={all.map((t) => ({ t: t.time, v: t.f, verdict: t.verdict }))} least={{ from: -1, to: 1 }} />
      <Course title="p" all={all.map((t) => ({ t: t.time, v: t.p, verdict: t.verdict }))} least={{ from: -3, to: 0 }} level={r.alpha} />
    </div>
  );
}

interface Point {
  t: string;
  v: number | null;
  verdict: string;
}

function Course({ title, all, least, level }: { title: string; all: Point[]; least: Scale; level?: number }) {
  const known = all.filter((p) => p.v !== null);
  const scale = decades(
    known.map((p) => p.v!),
    least,
  );
  const t0 = Date.parse(all[0]!.t),
    t1 = Math.max(Date.parse(all[all.length - 1]!.t), t0 + 1);
  const x = (t: string) => left + ((width - left - 6) * (Date.parse(t) - t0)) / (t1 - t0);
  const y = (v: number) => 6 + (height - bottom - 6) * (1 - place(v, scale));
  const line = known.map((p, i) => `${i ? "L" : "M"}${x(p.t).toFixed(1)} ${y(p.v!).toFixed(1)}`).join("");
  const last = known[known.length - 1];
  const step = Math.max(1, Math.ceil((scale.to - scale.from) / 4));
  const marks: number[] = [];
  for (let k = scale.to; k >= scale.from; k -= step) marks.push(k);
  return (
    <figure class="course">
      <figcaption>
        {title} <b class="num">{significant(last?.v)}</b> <span class="muted">{all.length === 1 ? "one test" : `${all.length} tests`}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${title} of the last ${all.length} tests; the last is ${significant(last?.v)}`}
      >
        {marks.map((k) => (
          <g key={k}>
            <path d={`M${left} ${y(10 ** k).toFixed(1)}H${width - 6}`} stroke="var(--line)" />
            <text x={left - 6} y={y(10 ** k) + 3} text-anchor="end">
              {k < -2 || k > 3 ? `1e${k}` : String(10 ** k)}
            </text>
          </g>
        ))}
        {level !== undefined && <path d={`M${left} ${y(level).toFixed(1)}H${width - 6}`} class="fair" />}
        <path d={line} class="line" />
        {known.map((p, i) => (
          <circle key={i} cx={x(p.t).toFixed(1)} cy={y(p.v!).toFixed(1)} r="2.4" class={p.verdict}>
            <title>{`${time(p.t)}: ${significant(p.v)}, ${p.verdict}`}</title>
          </circle>
        ))}
        <text x={left} y={height - 4}>
          {time(all[0]!.t)}
        </text>
        <text x={width - 6} y={height - 4} text-anchor="end">
          {time(all[all.length - 1]!.t)}
        </text>
      </svg>
    </figure>
  );
}
