import { useState } from "preact/hooks";
import { api, ask, type BackendSpec, type VIP } from "../api";
import { Dialog } from "../ui/dialog";
import { Field } from "../ui/field";
import { ErrorNote } from "../ui/parts";
import { useSubmit } from "../ui/submit";
import { notify } from "../ui/toast";
import { fileWarning, force } from "./origin";
import { backendOf, type BackendDraft } from "./draft";

/** Asks for a new backend of a VIP. */
export function AddBackend({ v, onClose }: { v: VIP; onClose: () => void }) {
  const [b, setB] = useState<BackendDraft>({ name: freeName(v), address: "", port: samePort(v), weight: "1" });
  const { failure, busy, submit } = useSubmit(async () => {
    await ask(api.POST("/vips/{vip}/backends", { params: { path: { vip: v.name }, query: force(v) }, body: backendOf(b) as BackendSpec }));
    notify(`${b.name} is added`);
    onClose();
  });
  const f = failure?.fields ?? {};
  const field = (key: keyof BackendDraft) => ({
    name: key,
    value: b[key],
    onInput: (value: string) => setB((old) => ({ ...old, [key]: value })),
    error: f[key],
  });
  return (
    <Dialog title={`Add a backend to ${v.name}`} onClose={onClose}>
      <form onSubmit={(e) => void submit(e)} noValidate>
        {fileWarning(v) && <p class="muted">{fileWarning(v)}</p>}
        <Field label="Name" {...field("name")} />
        <Field label="Address" {...field("address")} placeholder="10.0.0.5" autofocus />
        <div class="pair">
          <Field label="Port" {...field("port")} hint="Empty: the VIP's" />
          <Field label="Weight" {...field("weight")} numeric />
        </div>
        {failure && Object.keys(f).length === 0 && <ErrorNote>{failure.message}</ErrorNote>}
        {failure && Object.keys(f).length > 0 && !["name", "address", "port", "weight"].some((k) => f[k]) && (
          <ErrorNote>{Object.values(f)[0]}</ErrorNote>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button class="button primary" disabled={busy}>
            Add backend
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The first of b1, b2, … that no backend has. */
function freeName(v: VIP): string {
  const taken = new Set(v.backends.map((b) => b.name));
  for (let i = 1; ; i++) if (!taken.has(`b${i}`)) return `b${i}`;
}

/** The port that all backends have. */
function samePort(v: VIP): string {
  const ports = new Set(v.backends.map((b) => b.port ?? 0));
  return ports.size === 1 ? String([...ports][0] || "") : "";
}
