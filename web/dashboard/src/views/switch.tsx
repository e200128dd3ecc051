import { count, perSecond } from "../format";
import { packetIns, switches, ticks } from "../live";
import { href } from "../route";
import { Ago, Card, DPID, Empty, Facts, Loading, Page, Tabs } from "../ui/parts";
import { Mark, SwitchBadge } from "../ui/state";
import { Flows } from "./flows";
import { Groups } from "./groups";
import { Meters } from "./meters";
import { Ports } from "./ports";

/** One switch: its ports with their rates, and what it holds. */
export function SwitchPage({ dpid, tab }: { dpid: string; tab: string }) {
  void ticks.value;
  const s = switches.value?.get(dpid);
  const title = (
    <>
      Switch <DPID id={dpid} link={false} />
    </>
  );
  if (!switches.value)
    return (
      <Page title={title}>
        <Loading what="the switch" />
      </Page>
    );
  if (!s)
    return (
      <Page title={title}>
        <Empty title="No switch of this datapath id has connected">
          <a href={href("switches")}>All switches</a>
        </Empty>
      </Page>
    );
  const dropped = s.drops.reduce((n, d) => n + d.packets, 0);
  const tabs = [
    ["ports", "Ports"],
    ["flows", "Flows"],
    ["groups", "Groups"],
    ["meters", "Meters"],
    ["drops", "Drops"],
  ] as const;
  return (
    <Page
      title={title}
      lead={
        <span class="verdict">
          <SwitchBadge of={s} />
          <span class="muted">
            {s.connected ? "connected" : "away"} for <Ago t={s.since} />
            {s.error && `: ${s.error}`}
          </span>
        </span>
      }
    >
      {[...s.problems.map((t) => ({ t, tone: "bad" as const })), ...s.warnings.map((t) => ({ t, tone: "warn" as const }))].map(
        ({ t, tone }) => (
          <div class={`note ${tone}`} key={t}>
            <Mark tone={tone} />
            <span>{t}</span>
          </div>
        ),
      )}
      <Facts
        items={[
          ["OpenFlow", s.openflow || "–"],
          ["Rules", <span class="num">{count(s.rules)}</span>],
          [
            "Groups, meters",
            <span class="num">
              {count(s.groups)}, {count(s.meters)}
            </span>,
          ],
          [
            "Packet-ins",
            <span class="num">
              {perSecond(packetIns.get(dpid))} <span class="faint">{count(s.packet_ins)}</span>
            </span>,
          ],
          ["Flow-mods", <span class="num">{count(s.flow_mods)}</span>],
          ["Dropped", <span class="num">{count(dropped)}</span>],
          ["Software", s.description || "–"],
          ["Hash of groups", s.hash || "–"],
          ["Address", s.address || "–"],
        ]}
      />
      <Tabs
        current={tab}
        tabs={tabs.map(([name, text]) => ({
          name,
          title: text,
          href: href("switches", dpid, name),
          count: name === "ports" ? s.ports : undefined,
        }))}
      />
      {tab === "ports" && <Ports dpid={dpid} />}
      {tab === "flows" && <Flows dpid={dpid} />}
      {tab === "groups" && <Groups dpid={dpid} />}
      {tab === "meters" && <Meters dpid={dpid} />}
      {tab === "drops" && (
        <Card flush>
          {s.drops.length === 0 ? (
            <Empty title="Nothing is known of drops" />
          ) : (
            <table class="table">
              <thead>
                <tr>
                  <th>Why rules have dropped packets</th>
                  <th class="right">Packets</th>
                </tr>
              </thead>
              <tbody>
                {[...s.drops]
                  .sort((a, b) => b.packets - a.packets)
                  .map((d) => (
                    <tr key={d.reason}>
                      <th scope="row" class={d.packets ? undefined : "muted"}>
                        {d.reason}
                      </th>
                      <td class="right num">{count(d.packets)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          )}
        </Card>
      )}
    </Page>
  );
}
