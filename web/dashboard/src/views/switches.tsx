import { useState } from "preact/hooks";
import { memo } from "preact/compat";
import type { LiveSwitch } from "../api";
import { bits, compact, count, perSecond } from "../format";
import { packetIns, switches, ticks } from "../live";
import { Filter } from "../ui/field";
import { Ago, Card, DPID, Empty, Loading, Page } from "../ui/parts";
import { SwitchBadge } from "../ui/state";

export function Switches() {
  void ticks.value;
  const [text, setText] = useState("");
  const all = switches.value ? [...switches.value.values()] : null;
  if (!all)
    return (
      <Page title="Switches">
        <Loading what="switches" />
      </Page>
    );
  const rows = all.filter((s) => `${s.dpid} ${s.address} ${s.description}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Page title="Switches">
      {all.length > 5 && (
        <div class="filters">
          <Filter what="switches" hint="Filter by datapath id, address" text={text} onText={setText} />
        </div>
      )}
      <Card flush>
        {all.length === 0 ? (
          <Empty title="No switch has connected yet">
            Point one here: <code>ovs-vsctl set-controller br0 tcp:CONTROLLER:6653</code>
          </Empty>
        ) : rows.length === 0 ? (
          <Empty title="No switch fits the filter" />
        ) : (
          <SwitchTable rows={rows} />
        )}
      </Card>
    </Page>
  );
}

export function SwitchTable({ rows, brief }: { rows: LiveSwitch[]; brief?: boolean }) {
  const age = Math.floor(ticks.value / 10); // that since when goes on
  return (
    <div class="scroll" tabIndex={-1}>
      <table class="table stack">
        <thead>
          <tr>
            <th>Datapath</th>
            <th>State</th>
            {!brief && <th>Since</th>}
            <th class="right">Ports up</th>
            {!brief && <th class="right">Rules</th>}
            <th class="right">Received</th>
            <th class="right">Sent</th>
            {!brief && <th class="right">Packet-ins</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((s) => (
            <Row key={s.dpid} s={s} rate={packetIns.get(s.dpid)} age={age} brief={brief} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(({ s, rate, brief }: { s: LiveSwitch; rate: number | null; age: number; brief?: boolean }) => (
  <tr>
    <th scope="row">
      <DPID id={s.dpid} />
    </th>
    <td data-label="State">
      <span class="state-cell">
        <SwitchBadge of={s} />
        {!brief && (s.error || s.problems[0]) && <span class="muted small">{s.error || s.problems[0]}</span>}
      </span>
    </td>
    {!brief && (
      <td data-label="Since" class="num">
        <Ago t={s.since} />
      </td>
    )}
    <td data-label="Ports up" class="right num">
      {s.ports_up} / {s.ports}
    </td>
    {!brief && (
      <td data-label="Rules" class="right num">
        {count(s.rules)}
      </td>
    )}
    <td data-label="Received" class="right num">
      {bits(s.rx_bps)}
    </td>
    <td data-label="Sent" class="right num">
      {bits(s.tx_bps)}
    </td>
    {!brief && (
      <td data-label="Packet-ins" class="right num">
        {perSecond(rate)} <span class="faint">{compact(s.packet_ins)}</span>
      </td>
    )}
  </tr>
));
