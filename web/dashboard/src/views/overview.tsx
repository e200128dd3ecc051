import type { ComponentChildren } from "preact";
import type { LiveSwitch, LiveVIP } from "../api";
import { compact, count, perSecond, plural } from "../format";
import { events, now, switches, ticks, totals, vips } from "../live";
import { href } from "../route";
import { sum } from "../series";
import { Spark } from "../ui/plot";
import { Ago, Card, DPID, Empty, Loading, Page } from "../ui/parts";
import { Mark, StateBadge, SwitchBadge, switchState, tone, type Tone } from "../ui/state";
import { EventList, toneOf } from "./eventlist";
import { SwitchTable } from "./switches";
import { VIPTable } from "./vips";

/** How many rows of a table are shown here. */
const most = 8;

export function Overview() {
  const v = vips.value,
    s = switches.value;
  if (!v || !s)
    return (
      <Page title="Overview">
        <Loading what="what is now" />
      </Page>
    );
  const all = [...v.values()],
    sw = [...s.values()];
  const backends = all.flatMap((x) => x.backends);
  const up = all.filter((x) => x.phase === "up").length;
  const live = all.length > 0 ? sum(all.map((x) => x.connections)) : 0;
  return (
    <Page title="Overview" lead={<Verdict vips={all} switches={sw} />}>
      <div class="tiles">
        <Tile
          title="VIPs up"
          value={up}
          of={all.length}
          href={href("vips")}
          tone={all.length === 0 ? "idle" : up === all.length ? "good" : "warn"}
        />
        <Tile
          title="Backends up"
          value={backends.filter((b) => b === "up").length}
          of={backends.length}
          tone={backends.length === 0 ? "idle" : backends.every((b) => b === "up") ? "good" : "warn"}
        />
        <Tile
          title="Switches up"
          value={sw.filter((x) => x.connected).length}
          of={sw.length}
          href={href("switches")}
          tone={sw.length === 0 ? "idle" : sw.every((x) => x.connected) ? "good" : "bad"}
        />
        <Tile title="Connections" value={compact(live)} />
        <Flow title="New connections" index={1} color="series-1" />
        <Flow title="Packet-ins" index={0} color="series-2" />
      </div>
      <Trouble vips={all} switches={sw} />
      <div class="columns">
        <div class="stack-cards">
          <Card title="VIPs" side={<a href={href("vips")}>All VIPs</a>} flush>
            {all.length === 0 ? (
              <Empty title="No VIP is declared yet">
                A VIP is one address that clients connect to, balanced over its backends. <a href={href("new-vip")}>Create the first</a>
              </Empty>
            ) : (
              <VIPTable rows={worst(all, (x) => gravity[tone(x.phase)]).slice(0, most)} brief />
            )}
            {all.length > most && (
              <a class="more" href={href("vips")}>
                {plural(all.length - most, "more VIP")}
              </a>
            )}
          </Card>
          <Card title="Switches" side={<a href={href("switches")}>All switches</a>} flush>
            {sw.length === 0 ? (
              <Empty title="No switch has connected yet">
                Point one here: <code>ovs-vsctl set-controller br0 tcp:CONTROLLER:6653</code>
              </Empty>
            ) : (
              <SwitchTable rows={worst(sw, (x) => gravity[switchState(x).tone]).slice(0, most)} brief />
            )}
            {sw.length > most && (
              <a class="more" href={href("switches")}>
                {plural(sw.length - most, "more switch", "more switches")}
              </a>
            )}
          </Card>
        </div>
        <Card title="Latest events" side={<a href={href("events")}>All events</a>} flush>
          <EventList events={events.value.slice(-14).reverse()} brief />
        </Card>
      </div>
    </Page>
  );
}

const gravity: Record<Tone, number> = { bad: 0, warn: 1, busy: 2, idle: 3, good: 3 };

/** Those that need a look first; the others stay in their order. */
function worst<T>(list: T[], rank: (x: T) => number): T[] {
  return [...list].sort((a, b) => rank(a) - rank(b));
}

/** Whether all is well, in one line. */
function Verdict({ vips, switches }: { vips: LiveVIP[]; switches: LiveSwitch[] }) {
  const bad = troubles(vips, switches).length;
  if (switches.length === 0)
    return (
      <span class="verdict">
        <Mark tone="busy" />
        Waiting for the first switch to connect
      </span>
    );
  if (bad === 0)
    return (
      <span class="verdict">
        <Mark tone="good" />
        All is well
      </span>
    );
  return (
    <span class="verdict">
      <Mark tone="warn" />
      {plural(bad, "thing")} to look at
    </span>
  );
}

function Tile({ title, value, of, href, tone: mark }: { title: string; value: string | number; of?: number; href?: string; tone?: Tone }) {
  const inner = (
    <>
      <span class="tile-title">
        {mark && <Mark tone={mark} />}
        {title}
      </span>
      <span class="tile-value num">
        {value}
        {of !== undefined && <small> / {of}</small>}
      </span>
    </>
  );
  return href ? (
    <a class="tile" href={href}>
      {inner}
    </a>
  ) : (
    <div class="tile">{inner}</div>
  );
}

/** A rate with its course over the last minutes. */
function Flow({ title, index, color }: { title: string; index: number; color: string }) {
  void ticks.value; // the series is no signal
  const values = totals.v[index]!;
  const last = values[values.length - 1] ?? null;
  return (
    <div class="tile wide">
      <span class="tile-title">{title}</span>
      <span class="tile-value num">{perSecond(last)}</span>
      <Spark values={values} color={color} label={`${title} per second in the last 15 minutes, now ${perSecond(last)}`} />
    </div>
  );
}

interface Matter {
  key: string;
  what: ComponentChildren;
  text: string;
  badge: ComponentChildren;
}

function troubles(vips: LiveVIP[], switches: LiveSwitch[]): Matter[] {
  const out: Matter[] = [];
  for (const s of switches) {
    const what = <DPID id={s.dpid} />;
    const badge = <SwitchBadge of={s} />;
    if (!s.connected) out.push({ key: s.dpid, what, badge, text: s.error || "not connected" });
    else if (s.error) out.push({ key: s.dpid, what, badge, text: s.error });
    s.problems.forEach((p, i) => out.push({ key: `${s.dpid} ${i}`, what, badge, text: p }));
  }
  for (const v of vips) {
    if (v.phase === "down" || v.phase === "degraded") {
      out.push({ key: v.name, what: <a href={href("vips", v.name)}>{v.name}</a>, badge: <StateBadge state={v.phase} />, text: v.reason });
    }
  }
  return out;
}

function Trouble({ vips, switches }: { vips: LiveVIP[]; switches: LiveSwitch[] }) {
  const list = troubles(vips, switches);
  const recent = now.value - 900;
  const errors = events.value
    .filter((e) => toneOf(e) === "bad" && Date.parse(e.time) / 1000 > recent)
    .slice(-3)
    .reverse();
  if (list.length === 0 && errors.length === 0) return null;
  return (
    <Card title={list.length > 0 ? `To look at (${count(list.length)})` : "Last errors"} flush>
      <ul class="matters">
        {list.slice(0, 20).map((m) => (
          <li key={m.key}>
            {m.badge}
            <span class="matter-what">{m.what}</span>
            <span class="matter-text">{m.text}</span>
          </li>
        ))}
        {list.length === 0 &&
          errors.map((e) => (
            <li key={e.id}>
              <Mark tone="bad" />
              <span class="matter-what">{e.subject}</span>
              <span class="matter-text">{e.message}</span>
              <span class="faint nowrap">
                <Ago t={e.time} /> ago
              </span>
            </li>
          ))}
      </ul>
    </Card>
  );
}
