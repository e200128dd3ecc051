import { useMemo, useState } from "preact/hooks";
import { api, ask, type Host, type LiveLink } from "../api";
import { bits, count, plural } from "../format";
import { hosts, links, switches } from "../live";
import { Card, DPID, Empty, Loading, Page } from "../ui/parts";
import { useReading } from "../ui/reading";
import { Badge } from "../ui/state";
import { build, roles } from "./graph";
import { many } from "./layout";
import { Picture } from "./picture";

export function Topology() {
  const vips = useReading(async () => (await ask(api.GET("/vips"))).items ?? [], "vips", 15000);
  const [withHosts, setWithHosts] = useState<boolean | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const s = switches.value,
    l = links.value,
    h = hosts.value;
  const few = (h?.size ?? 0) <= many;
  const show = withHosts ?? few;
  const graph = useMemo(
    () => (s && l && h ? build([...s.values()], [...l.values()], [...h.values()], vips.value ?? [], show, show || few, loadText) : null),
    [s, l, h, vips.value, show],
  );
  if (!s || !l || !h || !graph)
    return (
      <Page title="Topology">
        <Loading what="the network" />
      </Page>
    );
  const lead = `${plural(s.size, "switch", "switches")}, ${plural(l.size, "link")}, ${plural(h.size, "host")}`;
  return (
    <Page
      title="Topology"
      lead={<span class="muted">{lead}</span>}
      actions={
        <label class="check">
          <input type="checkbox" checked={show} onChange={(e) => setWithHosts(e.currentTarget.checked)} />
          All hosts
        </label>
      }
    >
      {s.size === 0 ? (
        <Card>
          <Empty title="No switch has connected yet">The picture is drawn from what the switches tell.</Empty>
        </Card>
      ) : (
        <>
          <Picture graph={graph} label={`The network: ${lead}. Links are listed below.`} chosen={chosen} choose={setChosen} />
          {chosen && <Chosen id={chosen} hosts={h} roles={roles(vips.value ?? [])} />}
          <Links links={[...l.values()]} />
        </>
      )}
    </Page>
  );
}

function loadText(l: LiveLink): string {
  return l.a_to_b_bps < 1000 && l.b_to_a_bps < 1000 ? "" : `${bits(l.a_to_b_bps)} →\n← ${bits(l.b_to_a_bps)}`;
}

/** What is known of the node or link that was chosen. */
function Chosen({ id, hosts, roles: of }: { id: string; hosts: Map<string, Host>; roles: ReturnType<typeof roles> }) {
  const s = switches.value?.get(id);
  const l = links.value?.get(id);
  const h = hosts.get(id.replace(/^at /, ""));
  if (s) {
    return (
      <Card
        title={
          <>
            Switch <DPID id={id} />
          </>
        }
        side={<Badge tone={s.connected ? "good" : "bad"}>{s.connected ? "connected" : "away"}</Badge>}
      >
        <p class="num">
          {s.ports_up} of {s.ports} ports up · received {bits(s.rx_bps)} · sent {bits(s.tx_bps)} · {count(s.rules)} rules
        </p>
      </Card>
    );
  }
  if (l)
    return (
      <Card title="Link">
        <p class="num">
          <End p={l.a} /> – <End p={l.b} /> · {bits(l.a_to_b_bps)} → · ← {bits(l.b_to_a_bps)}
        </p>
      </Card>
    );
  if (h) {
    const own = h.addresses.flatMap((a) => of.get(a) ?? []);
    return (
      <Card
        title={
          <>
            Host <span class="num">{h.mac}</span>
          </>
        }
        side={<Badge tone={h.live ? "good" : "bad"}>{h.live ? "live" : "silent"}</Badge>}
      >
        <p class="num">
          {h.addresses.join(", ") || "no address heard"} · at <End p={{ dpid: h.dpid, port_no: h.port_no }} />
          {own.length > 0 && (
            <>
              {" "}
              · backend of{" "}
              {own.map((r, i) => (
                <span key={i}>
                  {i > 0 && ", "}
                  <a href={`#/vips/${encodeURIComponent(r.vip)}`}>
                    {r.vip}/{r.backend}
                  </a>{" "}
                  ({r.state})
                </span>
              ))}
            </>
          )}
        </p>
      </Card>
    );
  }
  return null;
}

function End({ p }: { p: { dpid: string; port_no: number } }) {
  return (
    <>
      <DPID id={p.dpid} /> port {p.port_no}
    </>
  );
}

function Links({ links }: { links: LiveLink[] }) {
  const sorted = [...links].sort((a, b) => Math.max(b.a_to_b_bps, b.b_to_a_bps) - Math.max(a.a_to_b_bps, a.b_to_a_bps)).slice(0, 100);
  return (
    <Card title="Links" flush>
      {sorted.length === 0 ? (
        <Empty title="No link between switches">Links are found by LLDP within some seconds.</Empty>
      ) : (
        <div class="scroll" tabIndex={-1}>
          <table class="table stack">
            <thead>
              <tr>
                <th>From</th>
                <th>To</th>
                <th class="right">→</th>
                <th class="right">←</th>
              </tr>
            </thead>
            <tbody>
              {sorted.map((l) => (
                <tr key={`${l.a.dpid}${l.a.port_no}${l.b.dpid}${l.b.port_no}`}>
                  <th scope="row">
                    <End p={l.a} />
                  </th>
                  <td data-label="To">
                    <End p={l.b} />
                  </td>
                  <td data-label="→" class="right num">
                    {bits(l.a_to_b_bps)}
                  </td>
                  <td data-label="←" class="right num">
                    {bits(l.b_to_a_bps)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
