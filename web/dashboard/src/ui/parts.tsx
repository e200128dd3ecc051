// Small parts that all pages are made of.
import type { ComponentChildren } from "preact";
import { dpidParts, duration } from "../format";
import { now } from "../live";
import { href } from "../route";

export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <>
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {lead && <div class="lead">{lead}</div>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Card({
  title,
  side,
  children,
  flush,
  id,
}: {
  title?: ComponentChildren;
  side?: ComponentChildren;
  children: ComponentChildren;
  flush?: boolean;
  id?: string;
}) {
  return (
    <section class={flush ? "card flush" : "card"} id={id}>
      {title && (
        <header class="card-head">
          <h2>{title}</h2>
          {side && <div class="side">{side}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** What stands where there is nothing to show. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div class="empty loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading {what}…
    </div>
  );
}

export function ErrorNote({ children, retry }: { children: ComponentChildren; retry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <span>{children}</span>
      {retry && (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A datapath id, its leading zeros faint. */
export function DPID({ id, link = true }: { id: string; link?: boolean }) {
  const [zeros, rest] = dpidParts(id);
  const text = (
    <>
      <span class="faint">{zeros}</span>
      {rest}
    </>
  );
  return link ? (
    <a class="dpid" href={href("switches", id)}>
      {text}
    </a>
  ) : (
    <span class="dpid">{text}</span>
  );
}

/** How long ago something was. */
export function Ago({ t }: { t: string }) {
  const then = Date.parse(t) / 1000;
  if (Number.isNaN(then) || then < 0) return <>–</>;
  return (
    <time dateTime={t} title={new Date(t).toLocaleString("en-CA", { hour12: false })}>
      {duration(now.value - then)}
    </time>
  );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Tabs({ tabs, current }: { tabs: { name: string; title: string; count?: number; href: string }[]; current: string }) {
  return (
    <nav class="tabs" aria-label="Parts of this page">
      {tabs.map((t) => (
        <a key={t.name} href={t.href} aria-current={t.name === current ? "page" : undefined}>
          {t.title}
          {t.count !== undefined && <span class="count">{t.count}</span>}
        </a>
      ))}
    </nav>
  );
}

/** One of some values. */
export function Choice<T extends string | number>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (v: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([v, text]) => (
        <button type="button" key={String(v)} aria-pressed={v === value} onClick={() => onChange(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}
