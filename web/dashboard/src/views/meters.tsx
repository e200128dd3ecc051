import { api, ask } from "../api";
import { count, plural } from "../format";
import { Card, Empty } from "../ui/parts";
import { Again, Show, useReading } from "../ui/reading";

/** The meters in a switch with what they have dropped, read from it. */
export function Meters({ dpid }: { dpid: string }) {
  const reading = useReading(
    async () =>
      ((await ask(api.GET("/switches/{dpid}/meters", { params: { path: { dpid } } }))).items ?? []).sort((a, b) => a.meter_id - b.meter_id),
    dpid,
  );
  return (
    <Show of={reading} what="meters from the switch">
      {(meters) => (
        <>
          <div class="bar">
            <span class="muted">{plural(meters.length, "meter")}</span>
            <Again of={reading} />
          </div>
          <Card flush>
            {meters.length === 0 ? (
              <Empty title="This switch holds no meters" />
            ) : (
              <div class="scroll" tabIndex={-1}>
                <table class="table">
                  <thead>
                    <tr>
                      <th class="right">Meter</th>
                      <th>Limits</th>
                      <th class="right">Packets per second</th>
                      <th class="right">Burst</th>
                      <th class="right">Packets met</th>
                      <th class="right">Dropped</th>
                    </tr>
                  </thead>
                  <tbody>
                    {meters.map((m) => (
                      <tr key={m.meter_id}>
                        <td class="right num">{m.meter_id}</td>
                        <th scope="row">{m.name || <span class="muted">not ours</span>}</th>
                        <td class="right num">{count(m.rate)}</td>
                        <td class="right num">{m.burst ? count(m.burst) : "default"}</td>
                        <td class="right num">{count(m.packets)}</td>
                        <td class={m.dropped ? "right num warn-text" : "right num"}>{count(m.dropped)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Card>
        </>
      )}
    </Show>
  );
}
