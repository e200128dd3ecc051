import { useState } from "preact/hooks";
import { api, ask, type BackendSpec, type VIP } from "../api";
import { Dialog } from "../ui/dialog";
import { Field } from "../ui/field";
import { ErrorNote } from "../ui/parts";
import { useSubmit } from "../ui/submit";
import { notify } from "../ui/toast";
import { number } from "./draft";
import { fileWarning, force } from "./origin";

/** Asks for the weight of a backend. */
export function SetWeight({ v, b, onClose }: { v: VIP; b: BackendSpec; onClose: () => void }) {
  const [weight, setWeight] = useState(String(b.weight ?? 1));
  const { failure, busy, submit } = useSubmit(async () => {
    await ask(
      api.PATCH("/vips/{vip}/backends/{backend}", {
        params: { path: { vip: v.name, backend: b.name }, query: force(v) },
        body: { weight: number(weight) } as unknown as BackendSpec,
      }),
    );
    notify(`${b.name} has weight ${number(weight)}`);
    onClose();
  });
  return (
    <Dialog title={`Weight of ${b.name}`} onClose={onClose}>
      <form onSubmit={(e) => void submit(e)} noValidate>
        <p class="muted">Its share of new connections relative to the other backends'. 0 drains it. {fileWarning(v)}</p>
        <Field label="Weight" value={weight} onInput={setWeight} numeric autofocus error={failure?.fields.weight} />
        {failure && !failure.fields.weight && <ErrorNote>{failure.message}</ErrorNote>}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button class="button primary" disabled={busy}>
            Set weight
          </button>
        </div>
      </form>
    </Dialog>
  );
}
