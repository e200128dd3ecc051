import { useState } from "preact/hooks";
import { api, ask, message, type BackendSpec, type BackendStatus, type VIP } from "../api";
import { count, percent, perSecond, time } from "../format";
import { backendConnections, ticks } from "../live";
import type { Question } from "../ui/dialog";
import { Ago } from "../ui/parts";
import { StateBadge } from "../ui/state";
import { notify } from "../ui/toast";
import { fileWarning, force } from "./origin";
import { SetWeight } from "./weight";

/** The backends of a VIP, each with its state, its connections, and what can be done to it. */
export function BackendTable({ v, ask: confirm }: { v: VIP; ask: (q: Question) => void }) {
  void ticks.value;
  const [weighing, setWeighing] = useState<BackendSpec | null>(null);
  const status = new Map(v.status.backends.map((b) => [b.name, b]));
  return (
    <div class="scroll" tabIndex={-1}>
      <table class="table stack backends-table">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>Address</th>
            <th class="right">Weight</th>
            <th class="right">Live</th>
            <th class="right">New</th>
            <th class="right">Total</th>
            <th>
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {v.backends.map((b) => (
            <Row key={b.name} v={v} b={b} st={status.get(b.name)} confirm={confirm} weigh={() => setWeighing(b)} />
          ))}
        </tbody>
      </table>
      {weighing && <SetWeight v={v} b={weighing} onClose={() => setWeighing(null)} />}
    </div>
  );
}

function Row({
  v,
  b,
  st,
  confirm,
  weigh,
}: {
  v: VIP;
  b: BackendSpec;
  st?: BackendStatus;
  confirm: (q: Question) => void;
  weigh: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const path = { vip: v.name, backend: b.name };
  const state = st?.state ?? "unknown";
  const enabled = (b.admin ?? "enabled") === "enabled" && b.weight !== 0;
  const set = async (admin: "enabled" | "draining") => {
    const body = admin === "enabled" && b.weight === 0 ? { admin, weight: 1 } : { admin };
    await ask(api.PATCH("/vips/{vip}/backends/{backend}", { params: { path, query: force(v) }, body: body as BackendSpec }));
    notify(admin === "enabled" ? `${b.name} takes new connections` : `${b.name} gets no new connections; those it has stay`);
  };
  const quickly = async (admin: "enabled" | "draining") => {
    setBusy(true);
    try {
      await set(admin);
    } catch (e) {
      notify(message(e), true);
    }
    setBusy(false);
  };
  const drain = () => {
    const others = v.status.backends.some((o) => o.name !== b.name && o.state === "up");
    if (others && v.origin !== "file") return void quickly("draining");
    confirm({
      title: `Drain ${b.name}?`,
      action: "Drain",
      danger: !others,
      run: () => set("draining"),
      text: (
        <>
          {!others &&
            `${b.name} is the last backend that takes connections: new clients of ${v.name} are refused until another one is up. `}
          {fileWarning(v)}
        </>
      ),
    });
  };
  const remove = () =>
    confirm({
      title: `Remove ${b.name}?`,
      action: "Remove",
      danger: true,
      text: (
        <>
          {st?.connections === 0
            ? "It has no live connections."
            : `Its ${st?.connections ? count(st.connections) + " " : ""}live connections end at once. Drain it first to let them finish.`}{" "}
          {fileWarning(v)}
        </>
      ),
      run: async () => {
        await ask(api.DELETE("/vips/{vip}/backends/{backend}", { params: { path, query: force(v) } }));
        notify(`${b.name} is removed`);
      },
    });
  return (
    <tr>
      <th scope="row">{b.name}</th>
      <td data-label="State">
        <span class="state-cell">
          <StateBadge state={state} />
          {st && (
            <span class="muted small">
              <Ago t={st.since} />
            </span>
          )}
          {st?.reason && <span class="muted small reason">{st.reason}</span>}
          {st?.drain && state === "draining" && <span class="muted small">ended at {time(st.drain.ends)}</span>}
        </span>
      </td>
      <td data-label="Address" class="num">
        <span>
          {b.address}
          <span class="muted">:{b.port || v.port}</span>
          {st?.via && <span class="muted small"> via {st.via}</span>}
        </span>
      </td>
      <td data-label="Weight" class="right num">
        <button type="button" class="link" onClick={weigh} title={`Change the weight of ${b.name}`}>
          {b.weight ?? 1}
        </button>
        <span class="faint"> {percent(st?.share ?? 0)}</span>
      </td>
      <td data-label="Live" class="right num">
        {count(st?.connections)}
      </td>
      <td data-label="New" class="right num">
        {perSecond(backendConnections.get(`${v.name}/${b.name}`))}
      </td>
      <td data-label="Total" class="right num">
        {count(st?.new_connections)}
      </td>
      <td class="right row-actions">
        {enabled ? (
          <button type="button" class="button small" disabled={busy} onClick={drain} aria-label={`Drain ${b.name}`}>
            Drain
          </button>
        ) : (
          <button
            type="button"
            class="button small"
            disabled={busy}
            onClick={() => void quickly("enabled")}
            aria-label={`Enable ${b.name}`}
          >
            Enable
          </button>
        )}
        <button type="button" class="button small danger" onClick={remove} aria-label={`Remove ${b.name}`}>
          Remove
        </button>
      </td>
    </tr>
  );
}
