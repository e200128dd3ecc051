import { useEffect, useState } from "preact/hooks";
import type { VIP } from "../api";
import { count, percent, perSecond } from "../format";
import { backendConnections, now, shares, ticks } from "../live";
import { append, points, type Points } from "../series";
import { Card, Choice, Empty } from "../ui/parts";
import { Plot } from "../ui/plot";

type Span = "minute" | "open" | "all";

/** Each backend's share of new connections beside the share that its weight asks for. */
export function Shares({ v }: { v: VIP }) {
  void ticks.value;
  const [span, setSpan] = useState<Span>("all");
  const grown = span === "all" ? null : shares.grown(span === "minute" ? 60 : 900);
  const counts = v.status.backends.map((b) => (grown ? grown.by.get(b.name) ?? 0 : b.new_connections));
  const total = counts.reduce((a, b) => a + b, 0);
  const top = Math.max(0.01, ...v.status.backends.map((b, i) => Math.max(b.share, total > 0 ? counts[i]! / total : 0)));
  return (
    <Card title="Share of new connections" side={<Choice<Span> label="Counted over" value={span} onChange={setSpan} options={[["minute", "1 min"], ["open", "15 min"], ["all", "all"]]} />}>
      {total === 0 ? <Empty title={span === "all" ? "No connection yet" : "No new connection in this time"} /> : (
        <ul class="shares">
          {v.status.backends.map((b, i) => {
            const share = counts[i]! / total;
            return (
              <li key={b.name}>
                <span class="share-name">{b.name}</span>
                <span class="share-bar" role="img" aria-label={`${b.name}: ${percent(share)} of ${count(total)} new connections; its weight asks for ${percent(b.share)}`}>
                  <i class={`fill series-${(i % 8) + 1}`} style={{ width: `${(100 * share) / top}%` }} />
                  {b.share > 0 && <i class="want" style={{ left: `${(100 * b.share) / top}%` }} />}
                </span>
                <span class="num right">{percent(share)}</span>
                <span class="num right faint">{percent(b.share)}</span>
              </li>
            );
          })}
        </ul>
      )}
      {total > 0 && <p class="caption"><i class="want-key" aria-hidden="true" />what its weight asks for among the backends that are up · {count(total)} connections{grown && grown.seconds < 55 && span === "minute" ? ` in ${Math.round(grown.seconds)} s` : ""}</p>}
    </Card>
  );
}

const kept = new Map<string, Points>();
const maxLines = 8;

/** New connections per second of each backend. The course begins when the VIP's page is first opened. */
export function BackendPlot({ v }: { v: VIP }) {
  const names = v.status.backends.map((b) => b.name).slice(0, maxLines);
  const key = [v.name, ...names].join("\n");
  let data = kept.get(key);
  if (!data) kept.set(key, (data = points(names.length)));
  const p = data;
  useEffect(() => ticks.subscribe(() => append(p, now.peek(), names.map((n) => backendConnections.get(`${v.name}/${n}`)))), [key]);
  return (
    <Card title="New connections per second" side={v.status.backends.length > maxLines ? <span class="muted">the first {maxLines} backends</span> : undefined}>
      <Plot label={`New connections per second of each backend of ${v.name} since this page was opened`} data={p} height={170} format={perSecond}
        lines={names.map((n, i) => ({ label: n, color: `series-${(i % 8) + 1}` }))} />
    </Card>
  );
}
