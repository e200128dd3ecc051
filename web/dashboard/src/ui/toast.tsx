// Short notices of what was done, read out by screen readers.
import { signal } from "@preact/signals";
import { Mark } from "./state";

interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const notices = signal<Notice[]>([]);
let next = 0;

export function notify(text: string, bad = false) {
  const n = { id: next++, text, bad };
  notices.value = [...notices.value.slice(-3), n];
  setTimeout(() => (notices.value = notices.value.filter((x) => x !== n)), bad ? 10000 : 4000);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((n) => (
        <div key={n.id} class={n.bad ? "notice bad" : "notice"}>
          <Mark tone={n.bad ? "bad" : "good"} />
          {n.text}
        </div>
      ))}
    </div>
  );
}
