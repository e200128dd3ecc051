// The frame around all pages: where one can go, how the connection is, and which page is shown.
import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { denied } from "./api";
import { duration } from "./format";
import { heard, link, notReady, switches, ticks, version, vips, watch, type Want } from "./live";
import { href, path } from "./route";
import { AutoIcon, BalanceIcon, EventsIcon, Logo, MoonIcon, OverviewIcon, SunIcon, SwitchIcon, TopologyIcon, VIPIcon } from "./ui/icons";
import { Empty, Loading } from "./ui/parts";
import { Mark, type Tone } from "./ui/state";
import { nextTheme, theme } from "./ui/theme";
import { Notices } from "./ui/toast";
import { BalancePage, Balances } from "./views/balance";
import { Events } from "./views/events";
import { NewVIP } from "./views/newvip";
import { Overview } from "./views/overview";
import { SwitchPage } from "./views/switch";
import { Switches } from "./views/switches";
import { TokenForm } from "./views/token";
import { VIPPage } from "./views/vip";
import { VIPs } from "./views/vips";

const places = [
  { at: "", title: "Overview", icon: OverviewIcon },
  { at: "vips", title: "VIPs", icon: VIPIcon },
  { at: "balance", title: "Balance", icon: BalanceIcon },
  { at: "switches", title: "Switches", icon: SwitchIcon },
  { at: "topology", title: "Topology", icon: TopologyIcon },
  { at: "events", title: "Events", icon: EventsIcon },
];

interface Place {
  title: string;
  want: Want;
  page: VNode;
}

/** The page of a path, and what of the live stream it shows. */
function place([a = "", b, c]: string[]): Place {
  switch (a) {
    case "":
      return { title: "Overview", want: {}, page: <Overview /> };
    case "vips":
      if (b === undefined) return { title: "VIPs", want: {}, page: <VIPs /> };
      return { title: b, want: { vip: b }, page: <VIPPage key={b} name={b} /> };
    case "new-vip": // not below vips, where "new" may be one's name
      return { title: "New VIP", want: {}, page: <NewVIP /> };
    case "balance":
      if (b === undefined) return { title: "Balance", want: {}, page: <Balances /> };
      return { title: `Balance of ${c ?? b}`, want: {}, page: <BalancePage key={`${b}/${c}`} kind={c ? b : "vip"} name={c ?? b} /> };
    case "switches":
      if (b === undefined) return { title: "Switches", want: {}, page: <Switches /> };
      return { title: `Switch ${b}`, want: { dpid: b }, page: <SwitchPage key={b} dpid={b} tab={c ?? "ports"} /> };
    case "topology":
      return {
        title: "Topology",
        want: { topology: true },
        page: <Lazy load={() => import("./views/topology").then((m) => m.Topology)} />,
      };
    case "events":
      return { title: "Events", want: {}, page: <Events /> };
  }
  return {
    title: "Not found",
    want: {},
    page: (
      <Empty title="There is no such page">
        <a href={href()}>Go to the overview</a>
      </Empty>
    ),
  };
}

/** A page whose program is loaded when it is first shown. */
function Lazy({ load }: { load: () => Promise<ComponentType> }) {
  const [Page, setPage] = useState<ComponentType | null>(null);
  useEffect(() => void load().then((p) => setPage(() => p)), []);
  return Page ? <Page /> : <Loading what="the page" />;
}

export function App() {
  const { title, want, page } = place(path.value);
  const at = path.value.join("/");
  const section = path.value[0] === "new-vip" ? "vips" : (path.value[0] ?? "");
  useEffect(() => watch(want), [JSON.stringify(want)]);
  useEffect(() => {
    document.title = `${title} – Evenflow`;
  }, [title]);
  useEffect(() => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }), [at]);
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.querySelector<HTMLElement>("h1")?.focus();
        }}
      >
        Skip to the page
      </a>
      <nav class="nav" aria-label="Evenflow">
        <a class="brand" href={href()}>
          <Logo />
          <span>Evenflow</span>
        </a>
        <ul>
          {places.map((p) => (
            <li key={p.at}>
              <a href={href(...(p.at ? [p.at] : []))} aria-current={section === p.at ? "page" : undefined}>
                <p.icon />
                <span>{p.title}</span>
                <Trouble at={p.at} />
              </a>
            </li>
          ))}
        </ul>
        <footer>
          <ThemeButton />
          <Connection />
        </footer>
      </nav>
      <main id="main" class={link.value === "stale" ? "main old" : "main"}>
        <Stale />
        {denied.value ? <TokenForm /> : page}
      </main>
      <Notices />
    </div>
  );
}

/** How many of a kind need a look, beside their name in the navigation. */
function Trouble({ at }: { at: string }) {
  let n = 0;
  if (at === "vips") for (const v of vips.value?.values() ?? []) n += v.phase === "down" || v.phase === "degraded" ? 1 : 0;
  if (at === "switches") for (const s of switches.value?.values() ?? []) n += !s.connected || s.problems.length > 0 ? 1 : 0;
  return n > 0 ? (
    <span class="trouble" title={`${n} to look at`}>
      {n}
    </span>
  ) : null;
}

function ThemeButton() {
  const icons = { auto: AutoIcon, light: SunIcon, dark: MoonIcon };
  const Icon = icons[theme.value];
  return (
    <button type="button" class="quiet" onClick={nextTheme} title="Colours: as the system, light, dark">
      <Icon />
      <span>{{ auto: "System", light: "Light", dark: "Dark" }[theme.value]}</span>
    </button>
  );
}

function Connection() {
  const states: Record<typeof link.value, [Tone, string]> = {
    live: notReady.value ? ["warn", "not ready"] : ["good", "live"],
    connecting: ["busy", "connecting"],
    stale: ["bad", "no connection"],
  };
  const [tone, text] = states[link.value];
  return (
    <span class="connection" title={version.value ? `Evenflow ${version.value}` : undefined}>
      <Mark tone={tone} />
      <span>{text}</span>
    </span>
  );
}

/** Says when what is shown is old. It goes away by itself. */
function Stale() {
  const [, again] = useState(0);
  const old = link.value === "stale";
  useEffect(() => {
    if (!old) return;
    const timer = setInterval(() => again((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [old]);
  if (notReady.value && !old)
    return (
      <div class="note warn" role="status">
        <Mark tone="warn" />
        <span>The controller is not ready: {notReady.value}</span>
      </div>
    );
  if (!old) return null;
  const age = heard.value ? (Date.now() - heard.value) / 1000 : 0;
  return (
    <div class="note bad stale" role="alert" data-ticks={ticks.peek()}>
      <Mark tone="bad" />
      <span>
        <strong>No connection to the controller.</strong> What is shown is {duration(age)} old; it will be mended as soon as the controller
        answers. The switches go on forwarding.
      </span>
    </div>
  );
}
