import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, ask, type VIP } from "../api";
import { count, perSecond } from "../format";
import { newConnections, ticks, vip, vips } from "../live";
import { go, href } from "../route";
import { Confirm, type Question } from "../ui/dialog";
import { PlusIcon } from "../ui/icons";
import { Card, DPID, Empty, Facts, Loading, Page } from "../ui/parts";
import { Mark, StateBadge } from "../ui/state";
import { notify } from "../ui/toast";
import { AddBackend } from "./addbackend";
import { BackendTable } from "./backends";
import { Connections } from "./connections";
import { fileWarning, force } from "./origin";
import { BackendPlot, Shares } from "./shares";

/** One VIP: who serves it, how new connections are shared out, and what an operator does with it. */
export function VIPPage({ name }: { name: string }) {
  const v = vip.value;
  const [adding, setAdding] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  void ticks.value;
  if (v === "gone") {
    return (
      <Page title={name}>
        <Empty title="There is no VIP of this name">
          It may have been deleted. <a href={href("vips")}>All VIPs</a>
        </Empty>
      </Page>
    );
  }
  if (!v || v.name !== name)
    return (
      <Page title={name} lead={vips.value?.has(name) ? undefined : " "}>
        <Loading what={`VIP ${name}`} />
      </Page>
    );
  const live = v.status.backends.reduce<number | null>((n, b) => (b.connections === null ? n : (n ?? 0) + b.connections), null);
  const remove = () =>
    setQuestion({
      title: `Delete VIP ${name}?`,
      action: "Delete VIP",
      danger: true,
      text: (
        <>
          Clients of {v.address} are refused from then on, and its {live === null ? "" : count(live)} live connections end. {fileWarning(v)}
        </>
      ),
      run: async () => {
        await ask(api.DELETE("/vips/{vip}", { params: { path: { vip: name }, query: force(v) } }));
        notify(`VIP ${name} is deleted`);
        go("vips");
      },
    });
  return (
    <Page
      title={name}
      lead={
        <span class="verdict">
          <StateBadge state={v.status.phase} />
          {v.status.reason && <span class="muted">{v.status.reason}</span>}
        </span>
      }
      actions={
        <>
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            <PlusIcon />
            Add backend
          </button>
          <button type="button" class="button danger" onClick={remove}>
            Delete VIP
          </button>
        </>
      }
    >
      <Facts
        items={[
          [
            "Address",
            <span class="num">
              {v.address}{" "}
              <span class="muted">
                {v.protocol}/{v.port}
              </span>
            </span>,
          ],
          ["Mode", v.scheduler ? `${v.mode}, ${v.scheduler}` : (v.mode ?? "–")],
          ["Live connections", <span class="num">{count(live)}</span>],
          ["New connections", <span class="num">{perSecond(newConnections.get(name))}</span>],
          ...(v.status.handover ? handover(v.status.handover) : []),
          ...(v.idle_timeout ? ([["Idle timeout", v.idle_timeout]] as [string, string][]) : []),
          ...(v.health && v.health.type !== "none"
            ? ([["Probes", `${v.health.type}, every ${v.health.interval}`]] as [string, string][])
            : []),
          ["Loads", <a href={href("balance", name)}>how even they are</a>],
          ["Declared by", v.origin === "file" ? "configuration file" : "API"],
          ["Version", <span class="num">{v.version}</span>],
        ]}
      />
      {v.backends.length === 0 ? (
        <Card>
          <Empty title="No backend yet">
            Until there is one, clients are refused at once.{" "}
            <button type="button" class="link" onClick={() => setAdding(true)}>
              Add the first
            </button>
          </Empty>
        </Card>
      ) : (
        <>
          <Card title="Backends" flush>
            <BackendTable v={v} ask={setQuestion} />
          </Card>
          <div class="columns even">
            <Shares v={v} />
            <BackendPlot v={v} />
          </div>
        </>
      )}
      <Confirmed v={v} />
      {v.mode === "nat" && <Connections v={v} />}
      {adding && <AddBackend v={v} onClose={() => setAdding(false)} />}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
    </Page>
  );
}

/** How far the last change of backends is, in the modes that keep older sets of them for live connections. */
function handover(h: NonNullable<VIP["status"]["handover"]>): [string, ComponentChildren][] {
  const facts: [string, ComponentChildren][] = [
    ["Change", h.waiting ? "waits" : h.step === "steady" ? (h.settle_time ? `none, the last took ${h.settle_time}` : "none") : h.step],
    [
      "Generation",
      <span class="num">
        {h.generation} <span class="muted">{count(h.generations)} kept</span>
      </span>,
    ],
  ];
  if (h.pins > 0) {
    facts.push([
      "Pins",
      <span class="num">
        {count(h.pins)} <span class="muted">{h.cells > 0 ? `in ${count(h.cells)} cells` : "a rule each"}</span>
      </span>,
    ]);
  }
  return facts;
}

/** Which switches hold the present version. */
function Confirmed({ v }: { v: VIP }) {
  const late = v.status.applied.filter((a) => a.version < v.version || a.error);
  const done = v.status.applied.length - late.length;
  return (
    <Card
      title="Switches"
      side={
        <span class="muted">
          {done} of {v.status.applied.length} hold version {v.version}
        </span>
      }
    >
      {v.status.applied.length === 0 && <p class="muted">No switch is connected.</p>}
      {late.length === 0 && v.status.applied.length > 0 && (
        <p class="ok-line">
          <Mark tone="good" />
          Every connected switch holds this VIP.
        </p>
      )}
      <ul class="matters inset">
        {late.map((a) => (
          <li key={a.dpid}>
            <Mark tone={a.error ? "bad" : "busy"} />
            <DPID id={a.dpid} />
            <span class="matter-text">{a.error || `holds version ${a.version}`}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
