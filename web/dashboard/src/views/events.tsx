import { useState } from "preact/hooks";
import { count } from "../format";
import { events, eventsLost, link } from "../live";
import { Filter } from "../ui/field";
import { Card, Empty, Loading, Page } from "../ui/parts";
import { EventList } from "./eventlist";

const kinds = ["controller", "config", "vip", "backend", "switch", "port", "link", "host", "agent", "imbalance", "change", "error"];
const step = 200;

export function Events() {
  const [off, setOff] = useState<Set<string>>(new Set());
  const [text, setText] = useState("");
  const [shown, setShown] = useState(step);
  const [until, setUntil] = useState<number | null>(null);
  const all = events.value;
  const list = until === null ? all : all.filter((e) => e.id <= until);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter((e) => {
    if (off.has(e.kind)) return false;
    const line = `${e.kind} ${e.subject} ${e.message} ${e.origin ?? ""}`.toLowerCase();
    return words.every((w) => line.includes(w));
  });
  const waiting = all.length - list.length;
  const toggle = (kind: string) => {
    const next = new Set(off);
    if (!next.delete(kind)) next.add(kind);
    setOff(next);
  };
  return (
    <Page
      title="Events"
      lead="What happened, the newest first. The controller keeps the last 10,000, over restarts too."
      actions={
        until === null ? (
          <button type="button" class="button" onClick={() => setUntil(all[all.length - 1]?.id ?? 0)}>
            Pause
          </button>
        ) : (
          <button type="button" class="button primary" onClick={() => setUntil(null)}>
            {waiting > 0 ? `Show ${count(waiting)} new` : "Go on"}
          </button>
        )
      }
    >
      <div class="filters">
        <Filter what="events" hint="Filter by words" text={text} onText={setText} />
        <div class="chips" role="group" aria-label="Kinds of events">
          {kinds.map((k) => (
            <button type="button" key={k} aria-pressed={!off.has(k)} onClick={() => toggle(k)}>
              {k}
            </button>
          ))}
        </div>
      </div>
      {eventsLost.value > 0 && (
        <div class="note warn" role="status">
          {count(eventsLost.value)} events came while this page was not connected and are not kept any more.
        </div>
      )}
      <Card flush>
        {all.length === 0 && link.value === "connecting" ? (
          <Loading what="events" />
        ) : found.length === 0 && all.length > 0 ? (
          <Empty title="No event fits the filter" />
        ) : (
          <EventList events={found.slice(-shown).reverse()} />
        )}
        {found.length > shown && (
          <button type="button" class="more" onClick={() => setShown(shown + step)}>
            Show {Math.min(step, found.length - shown)} more of {count(found.length - shown)}
          </button>
        )}
      </Card>
    </Page>
  );
}
