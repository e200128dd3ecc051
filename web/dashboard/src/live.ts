// What is now: one stream from the server, held in signals. It opens itself again when it breaks, and knows when what it
// holds is old.
import { batch, effect, signal, type Signal } from "@preact/signals";
import {
  api,
  ask,
  authorization,
  denied,
  token,
  type Event,
  type Host,
  type LiveHello,
  type LiveLink,
  type LiveSwitch,
  type LiveTick,
  type LiveVIP,
  type Port,
  type VIP,
} from "./api";
import { append, points, recall, Rates, sum, Window } from "./series";
import { follow, Refused, type Message } from "./sse";

export type Link = "connecting" | "live" | "stale";

/** How the stream is. */
export const link = signal<Link>("connecting");
/** When the last tick came, by this machine's clock, in ms. */
export const heard = signal(0);
/** The server's time, in seconds since 1970. */
export const now = signal(Date.now() / 1000);
export const notReady = signal("");
export const version = signal("");

/** By datapath id; null before the first answer. */
export const switches = signal<Map<string, LiveSwitch> | null>(null);
export const vips = signal<Map<string, LiveVIP> | null>(null);
/** The VIP that the page asks for; null: not known yet, "gone": there is none. */
export const vip = signal<VIP | "gone" | null>(null);
export const ports = signal<Map<string, Port> | null>(null);
export const links = signal<Map<string, LiveLink> | null>(null);
export const hosts = signal<Map<string, Host> | null>(null);
/** The newest last. */
export const events = signal<Event[]>([]);
export const eventsLost = signal(0);

/** Packet-ins, new connections per second, for 15 minutes. */
export const totals = points(2);
/** Counts ticks: whoever draws from what is not a signal reads it. */
export const ticks = signal(0);
export const packetIns = new Rates();
export const newConnections = new Rates();
export const backendConnections = new Rates();
/** New connections of the VIP asked for, by backend. */
export let shares = new Window();
let sharesOf = "";

const keptEvents = 2000;
const stale = 3500; // ms without a tick

export interface Want {
  vip?: string;
  dpid?: string;
  topology?: boolean;
}

let want: Want = {};
let lastEvent = 0;
let current: AbortController | null = null;
let ticker = 0;

/** Says what the page shows. The stream is opened again if it does not bring that. */
export function watch(next: Want) {
  if (JSON.stringify(next) === JSON.stringify(want) && current) return;
  batch(() => {
    if (next.vip !== want.vip) vip.value = null;
    if (next.dpid !== want.dpid) ports.value = null;
  });
  want = next;
  open();
}

function url(): string {
  const q = new URLSearchParams();
  if (want.vip) q.set("vip", want.vip);
  if (want.dpid && /^[0-9a-f]{16}$/i.test(want.dpid)) q.set("dpid", want.dpid); // any other would be refused, and all else with it
  if (want.topology) q.set("topology", "true");
  if (lastEvent > 0) q.set("since", String(lastEvent));
  else q.set("last", "500");
  return `/api/v1/live?${q}`;
}

/** Waits before another try: soon at first. */
export function backoff(tries: number): number {
  return Math.min(5000, 250 * 2 ** tries);
}

function open() {
  current?.abort();
  const own = (current = new AbortController());
  void run(own);
  if (!ticker) ticker = window.setInterval(check, 500);
}

async function run(own: AbortController) {
  for (let tries = 0; !own.signal.aborted; tries++) {
    const fresh = new Set<string>();
    try {
      await follow(url(), authorization(), own.signal, (m) => {
        if (own.signal.aborted) return;
        tries = 0;
        receive(m, fresh);
      });
    } catch (e) {
      if (own.signal.aborted) return;
      if (e instanceof Refused && e.status === 401) {
        denied.value = true;
        current = null;
        return;
      }
    }
    if (link.value === "live") link.value = "stale";
    await pause(backoff(tries), own.signal);
  }
}

/** Waits, but no longer than until the machine has a network again or the stream is given up. */
function pause(ms: number, given: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const over = new AbortController();
    const end = () => {
      over.abort();
      clearTimeout(timer);
      done();
    };
    const timer = setTimeout(end, ms);
    given.addEventListener("abort", end, { signal: over.signal });
    addEventListener("online", end, { signal: over.signal });
  });
}

/** Opens the stream again when there is a new token. */
effect(() => {
  if (token.value && !denied.value && !current && ticker) open();
});

function check() {
  if (link.value === "live" && Date.now() - heard.value > stale) {
    link.value = "stale";
    open(); // a dead connection may not tell
  }
}

interface Changes<T> {
  items: T[];
  gone: string[];
}

/** Applies one message. fresh are the lists that this stream has sent: the first of each is the whole list. */
export function receive(m: Message, fresh: Set<string>) {
  const data: unknown = JSON.parse(m.data);
  batch(() => {
    switch (m.name) {
      case "hello":
        void remember();
        version.value = (data as LiveHello).version;
        if ((data as LiveHello).event < lastEvent) forgetEvents(); // another store
        return;
      case "switches":
        return merge(switches, fresh, m.name, data as Changes<LiveSwitch>, (s) => s.dpid);
      case "vips":
        return merge(vips, fresh, m.name, data as Changes<LiveVIP>, (v) => v.name);
      case "ports":
        return merge(ports, fresh, m.name, data as Changes<Port>, (p) => String(p.port_no));
      case "links":
        return merge(links, fresh, m.name, data as Changes<LiveLink>, linkKey);
      case "hosts":
        return merge(hosts, fresh, m.name, data as Changes<Host>, (h) => h.mac);
      case "vip":
        vip.value = data as VIP;
        return;
      case "gone":
        vip.value = "gone";
        return;
      case "event":
        return addEvent(data as Event);
      case "lost":
        eventsLost.value += (data as { lost: number }).lost;
        return;
      case "tick":
        return tick(data as LiveTick);
    }
  });
}

/** Asks the server what the totals were before this page was opened, or while it was not connected. */
async function remember() {
  try {
    const h = await ask(api.GET("/history"));
    totals.t.length = 0;
    for (const v of totals.v) v.length = 0;
    recall(totals, Date.parse(h.end) / 1000, [h.packet_ins, h.new_connections]);
    ticks.value++;
  } catch {
    // the course begins with the page
  }
}

export function linkKey(l: LiveLink): string {
  return `${l.a.dpid}:${l.a.port_no} - ${l.b.dpid}:${l.b.port_no}`;
}

function merge<T>(into: Signal<Map<string, T> | null>, fresh: Set<string>, name: string, c: Changes<T>, key: (v: T) => string) {
  const next = fresh.has(name) ? new Map(into.value) : new Map<string, T>();
  fresh.add(name);
  for (const k of c.gone) next.delete(k);
  for (const v of c.items) next.set(key(v), v);
  into.value = next;
}

function forgetEvents() {
  events.value = [];
  lastEvent = 0;
}

function addEvent(e: Event) {
  if (e.id <= lastEvent) return;
  lastEvent = e.id;
  const next = events.value.length >= keptEvents ? events.value.slice(-keptEvents / 2) : events.value.slice();
  next.push(e);
  events.value = next;
}

function tick(t: LiveTick) {
  const at = Date.parse(t.time) / 1000;
  now.value = at;
  heard.value = Date.now();
  link.value = "live";
  notReady.value = t.not_ready;
  const s = switches.value ?? new Map<string, LiveSwitch>();
  const v = vips.value ?? new Map<string, LiveVIP>();
  for (const x of s.values()) packetIns.read(x.dpid, at, x.packet_ins);
  for (const x of v.values()) newConnections.read(x.name, at, x.new_connections);
  packetIns.keep(new Set(s.keys()));
  newConnections.keep(new Set(v.keys()));
  append(totals, at, [sum([...s.keys()].map((k) => packetIns.get(k))), sum([...v.keys()].map((k) => newConnections.get(k)))]);
  const one = vip.value;
  if (one && one !== "gone") {
    if (sharesOf !== one.name) {
      sharesOf = one.name;
      shares = new Window();
    }
    shares.read(at, new Map(one.status.backends.map((b) => [b.name, b.new_connections])));
    for (const b of one.status.backends) backendConnections.read(`${one.name}/${b.name}`, at, b.new_connections);
  }
  ticks.value++;
}
