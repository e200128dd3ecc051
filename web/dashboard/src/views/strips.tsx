// A strip of dots for each port: the samples of its load, its mean, and the fair share that all would have.
import type { Imbalance } from "../api";
import { bits } from "../format";
import { Empty } from "../ui/parts";
import { nice } from "../ui/plot";
import { jitter, signed } from "./scale";

const width = 600,
  height = 26,
  maxStrips = 40;

export function StripPlot({ r }: { r: Imbalance }) {
  const all = (r.ports ?? []).filter((p) => p.compared);
  const ports = all.slice(0, maxStrips);
  const loads = ports.map((p) => (p.samples ?? []).filter((x): x is number => x !== null).map((x) => x / p.capacity));
  if (!loads.some((l) => l.length > 0)) return <Empty title="No sample yet">{r.reason}</Empty>;
  const means = loads.map((l) => (l.length ? l.reduce((a, b) => a + b, 0) / l.length : 0));
  const capacity = ports.reduce((sum, p) => sum + p.capacity, 0);
  const fair = means.reduce((sum, m, i) => sum + m * ports[i]!.capacity, 0) / capacity;
  const top = nice(Math.max(...loads.flat(), fair));
  const x = (v: number) => ((width * v) / top).toFixed(1);
  return (
    <>
      <ul class="strips">
        {ports.map((p, i) => (
          <li key={p.name}>
            <span class="share-name">{p.name}</span>
            <svg
              viewBox={`0 0 ${width} ${height}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={`${p.name}: ${bits(means[i])} per capacity on the average of ${loads[i]!.length} samples; the fair share is ${bits(fair)}`}
            >
              <path d={`M0 ${height / 2}H${width}`} stroke="var(--line)" vector-effect="non-scaling-stroke" />
              <path d={`M${x(fair)} 0V${height}`} class="fair" vector-effect="non-scaling-stroke" />
              {loads[i]!.map((v, k) => (
                <path
                  key={k}
                  d={`M${x(v)} ${(height / 2 + jitter(k) * height * 0.6).toFixed(1)}h0`}
                  class={`sample series-${(i % 8) + 1}`}
                  vector-effect="non-scaling-stroke"
                />
              ))}
              <path d={`M${x(means[i]!)} 3V${height - 3}`} class="mean" vector-effect="non-scaling-stroke" />
            </svg>
            <span class="num right">{bits(means[i]! * p.capacity)}</span>
            <span class="num right faint">{fair > 0 ? signed(means[i]! / fair - 1) : "–"}</span>
          </li>
        ))}
      </ul>
      <p class="caption">
        <i class="want-key fair-key" aria-hidden="true" />
        fair share · scale 0 to {bits(top)} per capacity
        {all.length > maxStrips ? ` · the first ${maxStrips} of ${all.length} ports` : ""}
      </p>
    </>
  );
}
