import { useState } from "preact/hooks";
import { api, ask, message, type Connection, type VIP } from "../api";
import { count } from "../format";
import { Filter } from "../ui/field";
import { RefreshIcon } from "../ui/icons";
import { Ago, Card, DPID, Empty, ErrorNote } from "../ui/parts";

const most = 200;

/** The live connections of a VIP, read when asked for. */
export function Connections({ v }: { v: VIP }) {
  const [list, setList] = useState<Connection[] | null>(null);
  const [error, setError] = useState("");
  const [text, setText] = useState("");
  const load = async () => {
    setError("");
    try {
      setList((await ask(api.GET("/vips/{vip}/connections", { params: { path: { vip: v.name } } }))).items ?? []);
    } catch (e) {
      setError(message(e));
    }
  };
  const found = list?.filter((c) => `${c.client} ${c.backend} ${c.dpid}`.includes(text.trim())) ?? [];
  return (
    <Card
      title="Connections"
      flush={found.length > 0}
      side={
        list && (
          <button type="button" class="button small" onClick={() => void load()}>
            <RefreshIcon />
            Read again
          </button>
        )
      }
    >
      {error && <ErrorNote retry={() => void load()}>{error}</ErrorNote>}
      {!list && !error && (
        <p>
          <button type="button" class="button small" onClick={() => void load()}>
            List live connections
          </button>
        </p>
      )}
      {list && list.length > 10 && (
        <div class="filters inset">
          <Filter what="connections" hint="Filter by client, backend, switch" text={text} onText={setText} />
        </div>
      )}
      {list && found.length === 0 && <Empty title={list.length === 0 ? "No live connection" : "No connection fits the filter"} />}
      {found.length > 0 && (
        <div class="scroll" tabIndex={-1}>
          <table class="table stack">
            <thead>
              <tr>
                <th>Client</th>
                <th>Backend</th>
                <th>Switch</th>
                <th class="right">Since</th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, most).map((c) => (
                <tr key={`${c.client} ${c.vip_port}`}>
                  <th scope="row" class="num">
                    {c.client}
                  </th>
                  <td data-label="Backend">{c.backend}</td>
                  <td data-label="Switch">
                    <DPID id={c.dpid} />
                  </td>
                  <td data-label="Since" class="right num">
                    <Ago t={c.since} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {found.length > most && <p class="caption inset">{count(found.length - most)} more</p>}
        </div>
      )}
    </Card>
  );
}
