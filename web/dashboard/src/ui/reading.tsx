// What a switch is asked for when it is looked at, and again every few seconds.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { message } from "../api";
import { RefreshIcon } from "./icons";
import { ErrorNote, Loading } from "./parts";

const usual = 5000; // ms

interface Reading<T> {
  value: T | null;
  error: string;
  again: () => void;
}

/** Reads at once, then each time some seconds after the last answer, while the page can be seen. */
export function useReading<T>(read: () => Promise<T>, key: string, every = usual): Reading<T> {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState("");
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    let ended = false,
      timer = 0;
    const turn = async () => {
      clearTimeout(timer);
      if (ended) return;
      if (!document.hidden) {
        try {
          const v = await read();
          if (ended) return;
          setValue(v);
          setError("");
        } catch (e) {
          if (ended) return;
          setError(message(e));
        }
      }
      timer = window.setTimeout(() => void turn(), every);
    };
    again.current = () => void turn();
    void turn();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [key]);
  return { value, error, again: () => again.current() };
}

/** Shows a reading: while it is on its way, when it has failed, and else what came, with a note if a later one has failed. */
export function Show<T>({ of: r, what, children }: { of: Reading<T>; what: string; children: (value: T) => ComponentChildren }) {
  if (r.value === null) return r.error ? <ErrorNote retry={r.again}>{r.error}</ErrorNote> : <Loading what={what} />;
  return (
    <>
      {r.error && <ErrorNote retry={r.again}>Not read again: {r.error}</ErrorNote>}
      {children(r.value)}
    </>
  );
}

export function Again({ of: r }: { of: Reading<unknown> }) {
  return (
    <button type="button" class="button small" onClick={r.again}>
      <RefreshIcon />
      Read again
    </button>
  );
}
