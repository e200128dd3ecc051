import { api, ask, type Group } from "../api";
import { bytes, count, percent, plural } from "../format";
import { Card, Empty } from "../ui/parts";
import { Again, Show, useReading } from "../ui/reading";

/** The groups in a switch with their buckets, read from it. */
export function Groups({ dpid }: { dpid: string }) {
  const reading = useReading(
    async () =>
      ((await ask(api.GET("/switches/{dpid}/groups", { params: { path: { dpid } } }))).items ?? []).sort((a, b) => a.group_id - b.group_id),
    dpid,
  );
  return (
    <Show of={reading} what="groups from the switch">
      {(groups) => (
        <>
          <div class="bar">
            <span class="muted">{plural(groups.length, "group")}</span>
            <Again of={reading} />
          </div>
          {groups.length === 0 && (
            <Card>
              <Empty title="This switch holds no groups" />
            </Card>
          )}
          {groups.map((g) => (
            <GroupCard key={g.group_id} g={g} />
          ))}
        </>
      )}
    </Show>
  );
}

function GroupCard({ g }: { g: Group }) {
  const weights = g.buckets.reduce((n, b) => n + b.weight, 0);
  return (
    <Card
      title={
        <>
          Group <span class="num">{g.group_id}</span>
          {g.name && <span class="muted">: {g.name}</span>}
        </>
      }
      flush
      side={
        <>
          <span class="tag">{g.type}</span>
          <span class="muted num">{g.packets === null ? "not counted" : `${count(g.packets)} packets, ${bytes(g.bytes)}`}</span>
        </>
      }
    >
      {g.about && <p class="caption inset">{g.about}</p>}
      <div class="scroll" tabIndex={-1}>
        <table class="table flows">
          <thead>
            <tr>
              <th class="right">Bucket</th>
              <th class="right">Weight</th>
              <th>Actions</th>
              <th class="right">Packets</th>
              <th class="right">Share</th>
            </tr>
          </thead>
          <tbody>
            {g.buckets.map((b, i) => (
              <tr key={i}>
                <td class="right num">{b.bucket_id}</td>
                <td class="right num">
                  {g.type === "select" ? (
                    <>
                      {b.weight} <span class="faint">{percent(weights ? b.weight / weights : null)}</span>
                    </>
                  ) : (
                    "–"
                  )}
                </td>
                <td class="code">{b.actions}</td>
                <td class="right num">{count(b.packets)}</td>
                <td class="right num">{b.packets !== null && g.packets ? percent(b.packets / g.packets) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
