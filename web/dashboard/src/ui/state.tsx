// States as a shape, a word and a colour: no one of them alone.
import type { ComponentChildren } from "preact";
import type { LiveSwitch, Phase, State } from "../api";

export type Tone = "good" | "warn" | "bad" | "busy" | "idle";

const tones: Record<State | Phase, Tone> = {
  up: "good",
  degraded: "warn",
  down: "bad",
  pending: "busy",
  draining: "busy",
  drained: "idle",
  disabled: "idle",
  unknown: "warn",
};

export function tone(state: State | Phase): Tone {
  return tones[state] ?? "idle";
}

/** A disc, a triangle, a cross, a half disc, a ring: by tone. */
export function Mark({ tone }: { tone: Tone }) {
  return (
    <svg class={`mark ${tone}`} viewBox="0 0 12 12" aria-hidden="true">
      {tone === "good" && <circle cx="6" cy="6" r="4.5" fill="currentColor" />}
      {tone === "warn" && <path d="M6 1.2l5.2 9.3H.8z" fill="currentColor" />}
      {tone === "bad" && <path d="M2 2l8 8M10 2l-8 8" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" />}
      {tone === "busy" && (
        <>
          <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />
          <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
        </>
      )}
      {tone === "idle" && <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.8" />}
    </svg>
  );
}

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

export function StateBadge({ state }: { state: State | Phase }) {
  return <Badge tone={tone(state)}>{state}</Badge>;
}

export function switchState(s: LiveSwitch): { tone: Tone; text: string } {
  if (!s.connected) return { tone: "bad", text: "away" };
  if (s.problems.length > 0 || s.error) return { tone: "warn", text: "problem" };
  if (!s.ready) return { tone: "busy", text: "loading" };
  return { tone: "good", text: "ready" };
}

export function SwitchBadge({ of: s }: { of: LiveSwitch }) {
  const { tone, text } = switchState(s);
  return <Badge tone={tone}>{text}</Badge>;
}

/** The states of a VIP's backends as a row of small marks, with a text for who does not see them. */
export function Backends({ states }: { states: State[] }) {
  const up = states.filter((s) => s === "up").length;
  return (
    <span class="backends" title={tally(states)}>
      <span class="nowrap">
        {up} / {states.length}
      </span>
      <span class="marks" aria-hidden="true">
        {states.slice(0, 12).map((s, i) => (
          <Mark key={i} tone={tone(s)} />
        ))}
        {states.length > 12 && "…"}
      </span>
    </span>
  );
}

/** "3 up, 1 down" */
export function tally(states: string[]): string {
  const n = new Map<string, number>();
  for (const s of states) n.set(s, (n.get(s) ?? 0) + 1);
  return [...n].map(([s, k]) => `${k} ${s}`).join(", ") || "no backends";
}
