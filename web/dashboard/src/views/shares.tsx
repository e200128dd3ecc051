import { useEffect, useMemo, useState } from "preact/hooks";
import { api, ask, type VIP } from "../api";
import { count, percent, perSecond } from "../format";
import { backendConnections, link, now, shares, ticks } from "../live";
import { append, points, recall, type Points } from "../series";
import { Card, Choice, Empty } from "../ui/parts";
import { Plot } from "../ui/plot";

type Span = "minute" | "open" | "all";

/** Each backend's share of new connections beside the share that its weight asks for. */
export function Shares({ v }: { v: VIP }) {
  void ticks.value;
  const [span, setSpan] = useState<Span>("all");
  const grown = span === "all" ? null : shares.grown(span === "minute" ? 60 : 900);
  const counts = v.status.backends.map((b) => (grown ? (grown.by.get(b.name) ?? 0) : b.new_connections));
  const total = counts.reduce((a, b) => a + b, 0);
  const top = Math.max(0.01, ...v.status.backends.map((b, i) => Math.max(b.share, total > 0 ? counts[i]! / total : 0)));
  return (
    <Card
      title="Share of new connections"
      side={
        <Choice<Span>
          label="Counted over"
          value={span}
          onChange={setSpan}
          options={[
            ["minute", "1 min"],
            ["open", "15 min"],
            ["all", "all"],
          ]}
        />
      }
    >
      {total === 0 ? (
        <Empty title={span === "all" ? "No connection yet" : "No new connection in this time"} />
      ) : (
        <ul class="shares">
          {v.status.backends.map((b, i) => {
            const share = counts[i]! / total;
            return (
              <li key={b.name}>
                <span class="share-name">{b.name}</span>
                <span
                  class="share-bar"
                  role="img"
                  aria-label={`${b.name}: ${percent(share)} of ${count(total)} new connections; its weight asks for ${percent(b.share)}`}
                >
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
      {total > 0 && (
        <p class="caption">
          <i class="want-key" aria-hidden="true" />
          what its weight asks for · {count(total)} connections
          {grown && grown.seconds < 55 && span === "minute" ? ` in ${Math.round(grown.seconds)} s` : ""}
        </p>
      )}
    </Card>
  );
}

const maxLines = 8;

/** New connections per second of each backend: first the server's memory, then what comes. */
export function BackendPlot({ v }: { v: VIP }) {
  const names = v.status.backends.map((b) => b.name).slice(0, maxLines);
  const key = [v.name, ...names].join("\n");
  const connected = link.value === "live";
  const [kept, setKept] = useState<{ key: string; p: Points } | null>(null);
  const blank = useMemo(() => points(names.length), [key]);
  const data = kept?.key === key ? kept.p : blank; // what was kept may be of other backends
  useEffect(() => {
    let over = false;
    const p = points(names.length);
    const load = async () => {
      try {
        const h = await ask(api.GET("/vips/{vip}/history", { params: { path: { vip: v.name } } }));
        const by = new Map(h.backends.map((b) => [b.name, b.new_connections]));
        recall(
          p,
          Date.parse(h.end) / 1000,
          names.map((n) => by.get(n) ?? []),
        );
      } catch {
        // the course begins with the page
      }
      if (!over) setKept({ key, p });
    };
    if (connected) void load();
    return () => void (over = true);
  }, [key, connected]);
  useEffect(
    () =>
      ticks.subscribe(() =>
        append(
          data,
          now.peek(),
          names.map((n) => backendConnections.get(`${v.name}/${n}`)),
        ),
      ),
    [data],
  );
  return (
    <Card
      title="New connections per second"
      side={v.status.backends.length > maxLines ? <span class="muted">the first {maxLines} backends</span> : undefined}
    >
      <Plot
        label={`New connections per second of each backend of ${v.name} in the last minutes`}
        data={data}
        height={170}
        least={5}
        format={perSecond}
        lines={names.map((n, i) => ({ label: n, color: `series-${(i % 8) + 1}` }))}
      />
    </Card>
  );
}
