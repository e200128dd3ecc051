import { useState } from "preact/hooks";
import { memo } from "preact/compat";
import type { LiveVIP } from "../api";
import { compact, perSecond } from "../format";
import { newConnections, ticks, vips } from "../live";
import { href } from "../route";
import { Filter } from "../ui/field";
import { PlusIcon } from "../ui/icons";
import { Card, Empty, Loading, Page } from "../ui/parts";
import { Backends, StateBadge } from "../ui/state";

/** How many rows are drawn at first: each may change every second. */
const step = 60;

export function VIPs() {
  const [text, setText] = useState("");
  const [shown, setShown] = useState(step);
  const all = vips.value ? [...vips.value.values()] : null;
  const create = (
    <a class="button primary" href={href("new-vip")}>
      <PlusIcon />
      New VIP
    </a>
  );
  if (!all)
    return (
      <Page title="VIPs">
        <Loading what="VIPs" />
      </Page>
    );
  const rows = all.filter((v) => `${v.name} ${v.address} ${v.port} ${v.protocol} ${v.phase}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Page title="VIPs" actions={create}>
      {all.length > 5 && (
        <div class="filters">
          <Filter what="VIPs" hint="Filter by name, address, phase" text={text} onText={setText} />
        </div>
      )}
      <Card flush>
        {all.length === 0 ? (
          <Empty title="No VIP is declared yet">
            A VIP is one address that clients connect to, balanced over its backends. Create one here, by <code>evenflow vip create</code>{" "}
            or by <code>evenflow apply</code>.
          </Empty>
        ) : rows.length === 0 ? (
          <Empty title="No VIP fits the filter" />
        ) : (
          <VIPTable rows={rows.slice(0, shown)} />
        )}
        {rows.length > shown && (
          <button type="button" class="more" onClick={() => setShown(shown + step)}>
            Show {Math.min(step, rows.length - shown)} more of {rows.length - shown}
          </button>
        )}
      </Card>
    </Page>
  );
}

export function VIPTable({ rows, brief }: { rows: LiveVIP[]; brief?: boolean }) {
  void ticks.value; // rates are no signals
  return (
    <div class="scroll" tabIndex={-1}>
      <table class="table stack">
        <thead>
          <tr>
            <th>Name</th>
            <th>Phase</th>
            {!brief && <th>Address</th>}
            <th>Backends</th>
            <th class="right">Live</th>
            <th class="right">New</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((v) => (
            <Row key={v.name} v={v} rate={newConnections.get(v.name)} brief={brief} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(({ v, rate, brief }: { v: LiveVIP; rate: number | null; brief?: boolean }) => (
  <tr>
    <th scope="row">
      <a href={href("vips", v.name)}>{v.name}</a>
      {v.origin === "file" && (
        <span class="tag" title="declared in the configuration file">
          file
        </span>
      )}
    </th>
    <td data-label="Phase">
      <span title={v.reason}>
        <StateBadge state={v.phase} />
      </span>
    </td>
    {!brief && (
      <td data-label="Address" class="num">
        <span class="nowrap">{v.address}</span>{" "}
        <span class="muted">
          {v.protocol}/{v.port}
        </span>
      </td>
    )}
    <td data-label="Backends">
      <Backends states={v.backends} />
    </td>
    <td data-label="Live" class="right num">
      {compact(v.connections)}
    </td>
    <td data-label="New" class="right num">
      {perSecond(rate)}
    </td>
  </tr>
));
