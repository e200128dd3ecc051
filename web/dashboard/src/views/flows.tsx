import { useState } from "preact/hooks";
import { api, ask, type Flow } from "../api";
import { bytes, compact, count, plural } from "../format";
import { Filter } from "../ui/field";
import { Card, Empty } from "../ui/parts";
import { Again, Show, useReading } from "../ui/reading";

const most = 300;

/** The rules in a switch by table, read from it. */
export function Flows({ dpid }: { dpid: string }) {
  const reading = useReading(async () => (await ask(api.GET("/switches/{dpid}/flows", { params: { path: { dpid } } }))).items ?? [], dpid);
  const [text, setText] = useState("");
  return (
    <Show of={reading} what="flows from the switch">
      {(flows) => {
        const words = text.toLowerCase().split(/\s+/).filter(Boolean);
        const found = flows.filter((f) => words.every((w) => `${f.text} ${f.kind} ${f.class} ${f.about}`.toLowerCase().includes(w)));
        const ids = [...new Set(found.map((f) => f.table))].sort((a, b) => a - b);
        return (
          <>
            <div class="filters">
              <Filter what="flows" hint="Filter: 10.0.0.100 connection" text={text} onText={setText} />
              <span class="muted">{plural(found.length, "flow")}</span>
              <Again of={reading} />
            </div>
            {found.length === 0 && (
              <Card>
                <Empty title={flows.length === 0 ? "This switch holds no flows" : "No flow fits the filter"} />
              </Card>
            )}
            {ids.length > 0 && (
              <div class="card flush">
                {ids.map((id) => (
                  <Table key={id} id={id} flows={found.filter((f) => f.table === id)} open={words.length > 0} />
                ))}
              </div>
            )}
          </>
        );
      }}
    </Show>
  );
}

function Table({ id, flows, open }: { id: number; flows: Flow[]; open: boolean }) {
  const [shown, setShown] = useState(false);
  const packets = flows.reduce((n, f) => n + f.packets, 0);
  return (
    <details class="flow-table" open={open || undefined} onToggle={(e) => setShown(e.currentTarget.open)}>
      <summary>
        <span class="num faint">{id}</span>
        <strong>{flows[0]?.table_name}</strong>
        <span class="muted num">{plural(flows.length, "flow")}</span>
        <span class="muted num right">{compact(packets)} packets</span>
      </summary>
      {shown && (
        <div class="scroll" tabIndex={-1}>
          <table class="table flows">
            <thead>
              <tr>
                <th class="right">Priority</th>
                <th>Match</th>
                <th>Actions</th>
                <th class="right">Packets</th>
                <th class="right">Bytes</th>
                <th>Kind</th>
              </tr>
            </thead>
            <tbody>
              {flows.slice(0, most).map((f) => (
                <tr key={`${f.priority} ${f.match}`}>
                  <td class="right num">{f.priority}</td>
                  <td class="code">
                    {f.match || "any"}
                    {f.about && <div class="about">{f.about}</div>}
                  </td>
                  <td class="code">{f.actions}</td>
                  <td class="right num">{count(f.packets)}</td>
                  <td class="right num">{bytes(f.bytes)}</td>
                  <td>
                    <span class={f.kind === "foreign" ? "tag warn" : "tag"}>{f.kind}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {flows.length > most && <p class="caption inset">{count(flows.length - most)} more: filter to find them</p>}
        </div>
      )}
    </details>
  );
}
