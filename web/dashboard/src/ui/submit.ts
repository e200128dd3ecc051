import { useState } from "preact/hooks";
import { Failure, message } from "../api";

/**
 * How a form is sent. While send runs the form is busy; if it fails, the failure is kept until the form is sent again, and the focus goes to
 * the first field that is wrong. If it succeeds, send has led away from the form.
 */
export function useSubmit(send: () => Promise<void>) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = e.currentTarget as HTMLFormElement;
    setBusy(true);
    setFailure(null);
    try {
      await send();
    } catch (err) {
      setFailure(err instanceof Failure ? err : new Failure({ detail: message(err) }, 0));
      setBusy(false);
      firstWrong(form);
    }
  };
  return { failure, busy, submit };
}

/** Moves the focus to the first field that is wrong, when the page has been drawn. */
function firstWrong(form: HTMLFormElement) {
  setTimeout(() => form.querySelector<HTMLElement>("[aria-invalid]")?.focus(), 50);
}
