import { useState } from "preact/hooks";
import { api, ask, type VIPSpec } from "../api";
import { go, href } from "../route";
import { Field } from "../ui/field";
import { CloseIcon, PlusIcon } from "../ui/icons";
import { Card, ErrorNote, Page } from "../ui/parts";
import { useSubmit } from "../ui/submit";
import { notify } from "../ui/toast";
import { vipOf, type BackendDraft, type VIPDraft } from "./draft";

const modes: [string, string][] = [
  ["", "default"],
  ["group", "group: the switch chooses, by hash"],
  ["nat", "nat: the controller chooses"],
  ["deferred", "deferred: the switch, each packet anew"],
  ["othello", "othello: the same, by a table"],
];

const schedulers: [string, string][] = [
  ["", "two-choices (default)"],
  ["least-connections", "least-connections"],
  ["round-robin", "round-robin"],
  ["weighted-round-robin", "weighted-round-robin"],
  ["source-hash", "source-hash"],
  ["greedy", "greedy, by port load"],
  ["roulette", "roulette, by port load"],
  ["sticky-roulette", "sticky-roulette, by port load"],
];

const probes: [string, string][] = [
  ["", "none (default): port and host alone"],
  ["tcp", "tcp: the service accepts connections"],
  ["icmp", "icmp: the host answers pings"],
  ["arp", "arp: the host answers ARP or ND"],
];

const rejects: [string, string][] = [
  ["", "is refused at once (default)"],
  ["drop", "gets no answer"],
];

function blank(n: number, port: string): BackendDraft {
  return { name: `b${n}`, address: "", port, weight: "1" };
}

/** The form that creates a VIP. What is wrong the server says, field by field. */
export function NewVIP() {
  const [v, setV] = useState<VIPDraft>({
    name: "",
    address: "",
    protocol: "tcp",
    port: "80",
    mode: "",
    scheduler: "",
    reject: "",
    health: "",
    backends: [blank(1, ""), blank(2, "")],
  });
  const { failure, busy, submit } = useSubmit(async () => {
    await ask(api.POST("/vips", { body: vipOf(v) as unknown as VIPSpec }));
    notify(`VIP ${v.name.trim()} is created`);
    go("vips", v.name.trim());
  });
  const f = failure?.fields ?? {};
  // Rows without an address are not sent: the server counts the others.
  const sent = v.backends.map((b) => b.address.trim() !== "");
  const at = (i: number, key: string) => f[`backends[${sent.slice(0, i).filter(Boolean).length}].${key}`];
  const field = (key: keyof Omit<VIPDraft, "backends">) => ({
    name: key,
    value: v[key] ?? "",
    onInput: (value: string) => setV((old) => ({ ...old, [key]: value })),
    error: f[key],
  });
  const cell = (i: number, key: keyof BackendDraft) => ({
    bare: true,
    label: `${key[0]!.toUpperCase()}${key.slice(1)} of backend ${i + 1}`,
    name: `backend${i}.${key}`,
    value: v.backends[i]![key],
    onInput: (value: string) => setV((old) => ({ ...old, backends: old.backends.map((b, k) => (k === i ? { ...b, [key]: value } : b)) })),
    error: at(i, key),
  });
  const shown = new Set([
    "name",
    "address",
    "protocol",
    "port",
    "mode",
    "scheduler",
    "reject",
    "health.type",
    ...v.backends.flatMap((_, i) => ["name", "address", "port", "weight"].map((k) => `backends[${i}].${k}`)),
  ]);
  const rest = Object.entries(f).filter(([k]) => !shown.has(k));
  return (
    <Page
      title="New VIP"
      lead="One address for clients, balanced over backends. Name, address, protocol and port are fixed for life; backends are not."
    >
      <form class="form" onSubmit={(e) => void submit(e)} noValidate>
        {failure && (
          <ErrorNote>
            {failure.message}
            {rest.map(([k, m]) => (
              <span key={k} class="block">
                {k}: {m}
              </span>
            ))}
          </ErrorNote>
        )}
        <Card title="Clients connect to">
          <div class="grid">
            <Field label="Name" {...field("name")} placeholder="web" autofocus hint="Lower case letters, digits, . _ -" />
            <Field label="Address" {...field("address")} placeholder="10.0.0.100" hint="Of no host in the network" />
            <Field
              label="Protocol"
              {...field("protocol")}
              options={[
                ["tcp", "TCP"],
                ["udp", "UDP"],
              ]}
            />
            <Field label="Port" {...field("port")} placeholder="80" hint="Or a range: 8000-8010" />
            <Field label="Mode" {...field("mode")} options={modes} />
            {v.mode === "nat" && <Field label="Scheduler" {...field("scheduler")} options={schedulers} />}
            <Field label="Who cannot be served" {...field("reject")} options={rejects} />
            <Field label="Backends are probed by" {...field("health")} error={f["health.type"]} options={probes} />
          </div>
        </Card>
        <Card title="Backends" side={<span class="muted">Rows without an address are left out</span>}>
          <fieldset class="rows">
            <legend class="hidden">Backends</legend>
            <div class="row head" aria-hidden="true">
              <span>Name</span>
              <span>Address</span>
              <span>Port</span>
              <span>Weight</span>
              <span />
            </div>
            {v.backends.map((_, i) => (
              <div class="row" key={i} role="group" aria-label={`Backend ${i + 1}`}>
                <Field {...cell(i, "name")} />
                <Field {...cell(i, "address")} placeholder={`10.0.0.${i + 1}`} />
                <Field {...cell(i, "port")} placeholder={v.port || "VIP's"} />
                <Field {...cell(i, "weight")} numeric />
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Leave out backend ${i + 1}`}
                  onClick={() => setV((o) => ({ ...o, backends: o.backends.filter((_, k) => k !== i) }))}
                >
                  <CloseIcon />
                </button>
              </div>
            ))}
          </fieldset>
          <button
            type="button"
            class="button small"
            onClick={() =>
              setV((o) => ({
                ...o,
                backends: [...o.backends, blank(o.backends.length + 1, o.backends[o.backends.length - 1]?.port ?? "")],
              }))
            }
          >
            <PlusIcon />
            Another backend
          </button>
        </Card>
        <div class="form-actions">
          <a class="button" href={href("vips")}>
            Cancel
          </a>
          <button class="button primary" disabled={busy}>
            Create VIP
          </button>
        </div>
      </form>
    </Page>
  );
}
