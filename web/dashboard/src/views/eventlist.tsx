// Events, as a table or in brief.
import type { Event } from "../api";
import { dateTime, time } from "../format";
import { href } from "../route";
import { Empty } from "../ui/parts";
import { Mark, type Tone } from "../ui/state";

/** How grave an event is, by what it says. */
export function toneOf(e: Event): Tone {
  const m = e.message;
  switch (e.kind) {
    case "error":
      return "bad";
    case "vip":
    case "backend":
      if (/^up\b/.test(m)) return "good";
      if (/^down\b/.test(m)) return e.kind === "vip" ? "bad" : "warn";
      if (/^(degraded|unknown)\b/.test(m)) return "warn";
      return "idle";
    case "switch":
      if (/^disconnected/.test(m)) return "bad";
      if (/^came back without/.test(m)) return "warn";
      return /^ready/.test(m) ? "good" : "idle";
    case "link":
      return m === "down" ? "warn" : "good";
    case "port":
      return /down|removed/.test(m) ? "warn" : "idle";
    case "host":
      return /^gone|refused/.test(m) ? "warn" : "idle";
  }
  return "idle";
}

/** The page of what an event is about. */
export function subjectLink(e: Event): string | null {
  switch (e.kind) {
    case "vip":
    case "config":
    case "backend":
      return href("vips", e.subject.split("/")[0]!);
    case "switch":
    case "error":
    case "port": {
      const dpid = /^[0-9a-f]{16}/.exec(e.subject)?.[0];
      return dpid ? href("switches", dpid) : null;
    }
    case "link":
      return href("topology");
  }
  return null;
}

function Subject({ e }: { e: Event }) {
  const to = subjectLink(e);
  return to ? <a href={to}>{e.subject}</a> : <>{e.subject}</>;
}

export function EventList({ events, brief }: { events: Event[]; brief?: boolean }) {
  if (events.length === 0) return <Empty title="Nothing has happened yet" />;
  return (
    <ol class={brief ? "events brief" : "events"}>
      {events.map((e) => (
        <li key={e.id}>
          <Mark tone={toneOf(e)} />
          <time class="num" dateTime={e.time} title={dateTime(e.time)}>
            {brief ? time(e.time) : dateTime(e.time)}
          </time>
          {brief ? (
            <span class="event-line">
              <span class="event-subject">
                <Subject e={e} />
              </span>{" "}
              {e.message}
            </span>
          ) : (
            <>
              <span class="event-kind">{e.kind}</span>
              <span class="event-subject">
                <Subject e={e} />
              </span>
              <span class="event-text">
                {e.message}
                {e.origin && <span class="tag">by {e.origin}</span>}
              </span>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
