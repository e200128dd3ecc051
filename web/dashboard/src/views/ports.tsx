import { useEffect, useState } from "preact/hooks";
import { memo } from "preact/compat";
import { api, ask, message, type Port, type PortHistory } from "../api";
import { bits, bytes, compact, count, perSecond } from "../format";
import { link, now, ports, ticks } from "../live";
import { append, points, recall, type Points } from "../series";
import { Card, Choice, Empty, ErrorNote, Loading } from "../ui/parts";
import { extent, Plot, type Line } from "../ui/plot";
import { Badge } from "../ui/state";

type Unit = "bits" | "packets";

/** The course of one port's rates: received and sent, in bits and in packets. */
interface Course {
  bits: Points;
  packets: Points;
}

/** Fills a course with the server's memory of the last 15 minutes. Values a second apart, the last at `end`. */
export function courseOf(h: PortHistory): Course {
  const c = { bits: points(2), packets: points(2) };
  const end = Date.parse(h.end) / 1000;
  recall(c.bits, end, [h.rx_bps, h.tx_bps]);
  recall(c.packets, end, [h.rx_pps, h.tx_pps]);
  return c;
}

/** A switch's ports: first the server's memory, then what comes each second. After a lost connection the memory fills the hole. */
export function Ports({ dpid }: { dpid: string }) {
  const [unit, setUnit] = useState<Unit>("bits");
  const [span, setSpan] = useState(0);
  const [courses, setCourses] = useState<Map<number, Course> | null>(null);
  const [error, setError] = useState("");
  const connected = link.value === "live";
  const load = async () => {
    setError("");
    try {
      const all = (await ask(api.GET("/switches/{dpid}/history", { params: { path: { dpid } } }))).items ?? [];
      setCourses(new Map(all.map((h) => [h.port_no, courseOf(h)])));
    } catch (e) {
      setError(message(e));
    }
  };
  useEffect(() => {
    if (connected) void load();
  }, [dpid, connected]);
  useEffect(() => {
    if (!courses) return;
    return ticks.subscribe(() => {
      for (const p of ports.peek()?.values() ?? []) {
        let c = courses.get(p.port_no);
        if (!c) courses.set(p.port_no, (c = { bits: points(2), packets: points(2) }));
        append(c.bits, now.peek(), [p.rx_bps, p.tx_bps]);
        append(c.packets, now.peek(), [p.rx_pps, p.tx_pps]);
      }
    });
  }, [courses]);
  if (error && !courses) return <ErrorNote retry={() => void load()}>{error}</ErrorNote>;
  if (!ports.value || !courses) return <Loading what="ports" />;
  const all = [...ports.value.values()].sort((a, b) => a.port_no - b.port_no);
  if (all.length === 0)
    return (
      <Card>
        <Empty title="This switch has no ports" />
      </Card>
    );
  const known = Math.max(120, ...[...courses.values()].map((c) => extent(c.bits, now.value)));
  return (
    <>
      <div class="bar">
        <Choice
          label="Time shown"
          value={span || known}
          onChange={setSpan}
          options={[
            [120, "2 min"],
            [300, "5 min"],
            [900, "15 min"],
          ]}
        />
        <Choice<Unit>
          label="Unit"
          value={unit}
          onChange={setUnit}
          options={[
            ["bits", "bit/s"],
            ["packets", "packets/s"],
          ]}
        />
      </div>
      <div class="ports">
        {all.map((p) => (
          <PortCard key={p.port_no} p={p} data={courses.get(p.port_no)?.[unit] ?? none} unit={unit} seconds={span || known} />
        ))}
      </div>
    </>
  );
}

const none = points(2);
const lines: Line[] = [
  { label: "received", color: "series-1", fill: true },
  { label: "sent", color: "series-2" },
];

const PortCard = memo(({ p, data, unit, seconds }: { p: Port; data: Points; unit: Unit; seconds: number }) => (
  <section class="card port" aria-label={`Port ${p.port_no}, ${p.name}`} data-port={p.port_no}>
    <header class="card-head">
      <h2>
        <span class="faint num">{p.port_no}</span> {p.name}
      </h2>
      <div class="side">
        <span class="tag">{p.kind}</span>
        <Badge tone={p.live ? "good" : "bad"}>{p.live ? "up" : p.up ? "not live" : "down"}</Badge>
      </div>
    </header>
    <Plot
      label={`Port ${p.name}: received ${bits(p.rx_bps)}, sent ${bits(p.tx_bps)}`}
      data={data}
      lines={lines}
      format={unit === "bits" ? bits : perSecond}
      height={110}
      seconds={seconds}
      least={unit === "bits" ? 1000 : 10}
    />
    <p class="caption num">
      {bytes(p.rx_bytes)} and {compact(p.rx_packets)} packets in · {bytes(p.tx_bytes)} and {compact(p.tx_packets)} out
      {p.errors > 0 && <span class="bad-text"> · {count(p.errors)} errors</span>}
      {p.dropped > 0 && <span class="warn-text"> · {count(p.dropped)} dropped</span>}
    </p>
  </section>
));
