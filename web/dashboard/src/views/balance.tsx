// How evenly the ports of backends are loaded: the verdict on each VIP, and for one the comparison behind it.
import { api, ask, type Imbalance, type Verdict } from "../api";
import { percent, significant } from "../format";
import { href } from "../route";
import { Ago, Card, DPID, Empty, Facts, Page } from "../ui/parts";
import { Show, useReading } from "../ui/reading";
import { Badge, type Tone } from "../ui/state";
import { StripPlot } from "./strips";
import { TestPlot } from "./tests";

const tones: Record<Verdict, Tone> = { balanced: "good", imbalanced: "warn", undecided: "idle" };

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <Badge tone={tones[verdict] ?? "idle"}>{verdict}</Badge>;
}

/** A VIP has a short address, a set of ports its kind before its name. */
function at(r: Imbalance): string {
  return r.kind === "vip" ? href("balance", r.name) : href("balance", r.kind, r.name);
}

/** F with its degrees of freedom. */
function statistic(r: Imbalance): string {
  if (!r.tested) return "–";
  if (r.f === null) return r.p === 0 ? "∞" : "none";
  return `${significant(r.f)} (${significant(r.df1)}, ${significant(r.df2)})`;
}

/** All VIPs and sets of ports. */
export function Balances() {
  const reading = useReading(async () => (await ask(api.GET("/imbalance"))).items ?? [], "all");
  return (
    <Page
      title="Balance"
      lead={<span class="muted">Are the ports of backends evenly loaded, beyond chance and by so much that it matters?</span>}
    >
      <Show of={reading} what="how loads compare">
        {(all) => (
          <Card flush>
            {all.length === 0 ? (
              <Empty title="Nothing is compared">A VIP with two backends is, unless the detector is off.</Empty>
            ) : (
              <div class="scroll" tabIndex={-1}>
                <table class="table">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th>Verdict</th>
                      <th class="right">F</th>
                      <th class="right">p</th>
                      <th class="right">Farthest</th>
                      <th>Why</th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((r) => (
                      <tr key={`${r.kind}/${r.name}`}>
                        <th scope="row">
                          <a href={at(r)}>{r.name}</a> {r.kind !== "vip" && <span class="faint">ports</span>}
                        </th>
                        <td>
                          <VerdictBadge verdict={r.verdict} />
                        </td>
                        <td class="right num">{statistic(r)}</td>
                        <td class="right num">{significant(r.p)}</td>
                        <td class="right num">{percent(r.effect_size)}</td>
                        <td class="muted">{r.reason}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Card>
        )}
      </Show>
    </Page>
  );
}

async function read(kind: string, name: string): Promise<Imbalance> {
  if (kind === "vip") return ask(api.GET("/vips/{vip}/imbalance", { params: { path: { vip: name } } }));
  const all = (await ask(api.GET("/imbalance", { params: { query: { detail: true } } }))).items ?? [];
  const found = all.find((r) => r.kind === kind && r.name === name);
  if (!found) throw new Error(`there is no set of ports ${name}`);
  return found;
}

/** One VIP or set of ports. */
export function BalancePage({ kind, name }: { kind: string; name: string }) {
  const reading = useReading(() => read(kind, name), `${kind}/${name}`, 2000);
  const r = reading.value;
  return (
    <Page
      title={`Balance of ${name}`}
      lead={
        r && (
          <span class="verdict">
            <VerdictBadge verdict={r.verdict} />
            <span class="muted">{r.reason}</span>
          </span>
        )
      }
    >
      <Show of={reading} what={`how the loads of ${name} compare`}>
        {(r) => (
          <>
            <Facts
              items={[
                ["F", <span class="num">{statistic(r)}</span>],
                ["p", <span class="num">{significant(r.p)}</span>],
                [
                  "Farthest from its share",
                  <span class="num">
                    {percent(r.effect_size)} <span class="muted">gate {percent(r.gate)}</span>
                  </span>,
                ],
                ["Tests in a row", <span class="num">{r.top ? `${r.streak}, of ${r.top}` : r.streak}</span>],
                ["Mode", r.mode],
                [
                  "Window",
                  <span title={r.window.reason}>
                    <span class="num">
                      {r.window.samples} / {r.window.size}
                    </span>{" "}
                    <span class="muted">
                      of {r.window.interval} s, begun <Ago t={r.window.restarted} /> ago
                    </span>
                  </span>,
                ],
              ]}
            />
            <Card title="Loads of the ports" side={<span class="muted">each sample of the window, per capacity</span>}>
              <StripPlot r={r} />
            </Card>
            <Card title="Tests">
              <TestPlot r={r} />
            </Card>
            <Matrix r={r} />
            <NotCompared r={r} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Who differs from whom. */
function Matrix({ r }: { r: Imbalance }) {
  const matrix = r.matrix ?? [];
  const names = (r.ports ?? []).filter((p) => p.compared).map((p) => p.name);
  const p = new Map((r.pairs ?? []).flatMap((q) => [[`${q.a}\n${q.b}`, q.p] as const, [`${q.b}\n${q.a}`, q.p] as const]));
  return (
    <Card
      title="Comparison of each two"
      side={
        <span class="muted">
          * differs at {significant(r.alpha)}, ** at {significant(r.alpha / 5)}
        </span>
      }
      flush
    >
      {matrix.length === 0 ? (
        <Empty title="No test yet">{r.reason}</Empty>
      ) : (
        <div class="scroll" tabIndex={-1}>
          <table class="table matrix">
            <thead>
              <tr>
                <th />
                {names.map((n) => (
                  <th scope="col" key={n}>
                    {n}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {matrix.map((row, i) => (
                <tr key={names[i]}>
                  <th scope="row">{names[i]}</th>
                  {(row ?? []).map((mark, j) => (
                    <td
                      key={names[j]}
                      class={mark ? "differs num" : "num"}
                      title={i === j ? undefined : `p ${significant(p.get(`${names[i]}\n${names[j]}`))}`}
                    >
                      {i === j ? "" : mark || <span class="faint">·</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

/** Ports that are left out, and why. */
function NotCompared({ r }: { r: Imbalance }) {
  const out = (r.ports ?? []).filter((p) => !p.compared);
  if (out.length === 0) return null;
  return (
    <Card title="Not compared">
      <ul class="not-compared">
        {out.map((p) => (
          <li key={p.name}>
            <strong>{p.name}</strong>{" "}
            {p.port_no > 0 && (
              <span class="faint">
                port {p.port_no} of <DPID id={p.dpid} />
              </span>
            )}{" "}
            <span class="muted">{p.reason}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
