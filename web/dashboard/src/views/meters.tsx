import { api, ask } from "../api";
import { count, plural } from "../format";
import { Card, Empty } from "../ui/parts";
import { Again, Show, useReading } from "../ui/reading";

// What the pipeline's meters limit.
const names: Record<number, string> = { 1: "LLDP", 2: "ARP and ND", 3: "first packets to VIPs", 4: "other packets to the controller", 5: "rejects" };

export function meterName(id: number): string {
  return names[id] ?? (id > 1000 ? `rejects of VIP ${id - 1000}` : "");
}

/** The meters in a switch with what they have dropped, read from it. */
export function Meters({ dpid }: { dpid: string }) {
  const reading = useReading(async () => (await ask(api.GET("/switches/{dpid}/meters", { params: { path: { dpid } } }))).items ?? [], dpid);
  return (
    <Show of={reading} what="meters from the switch">{(meters) => (
      <>
        <div class="bar"><span class="muted">{plural(meters.length, "meter")}</span><Again of={reading} /></div>
        <Card flush>
          {meters.length === 0 ? <Empty title="This switch holds no meters" /> : (
            <div class="scroll" tabIndex={-1}>
              <table class="table">
                <thead><tr><th class="right">Meter</th><th>Limits</th><th class="right">Packets per second</th><th class="right">Burst</th><th class="right">Packets met</th><th class="right">Dropped</th></tr></thead>
                <tbody>{meters.map((m) => (
                  <tr key={m.meter_id}>
                    <td class="right num">{m.meter_id}</td><th scope="row">{meterName(m.meter_id)}</th><td class="right num">{count(m.rate)}</td>
                    <td class="right num">{m.burst ? count(m.burst) : "default"}</td><td class="right num">{count(m.packets)}</td>
                    <td class={m.dropped ? "right num warn-text" : "right num"}>{count(m.dropped)}</td>
                  </tr>))}</tbody>
              </table>
            </div>
          )}
        </Card>
      </>
    )}</Show>
  );
}
