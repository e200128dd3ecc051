// Dialogs, of the browser's own kind: they hold the focus and close by Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { message } from "../api";
import { ErrorNote } from "./parts";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    d.showModal();
    return () => {
      d.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onClick={(e) => {
        if (e.target === ref.current) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export interface Question {
  title: string;
  text: ComponentChildren;
  /** What the button says. */
  action: string;
  danger?: boolean;
  run: () => Promise<void>;
}

/** Asks before something that can hurt. */
export function Confirm({ question, onClose }: { question: Question; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const act = async () => {
    setBusy(true);
    setError("");
    try {
      await question.run();
      onClose();
    } catch (e) {
      setError(message(e));
      setBusy(false);
    }
  };
  return (
    <Dialog title={question.title} onClose={onClose}>
      <p>{question.text}</p>
      {error && <ErrorNote>{error}</ErrorNote>}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class={question.danger ? "button danger" : "button primary"} disabled={busy} onClick={() => void act()}>
          {question.action}
        </button>
      </div>
    </Dialog>
  );
}
