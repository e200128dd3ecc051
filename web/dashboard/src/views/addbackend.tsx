import { useState } from "preact/hooks";
import { api, ask, Failure, message, type BackendSpec, type VIP } from "../api";
import { Dialog } from "../ui/dialog";
import { Field } from "../ui/field";
import { ErrorNote } from "../ui/parts";
import { notify } from "../ui/toast";
import { fileWarning, force } from "./origin";
import { backendOf, firstWrong, type BackendDraft } from "./draft";

/** Asks for a new backend of a VIP. */
export function AddBackend({ v, onClose }: { v: VIP; onClose: () => void }) {
  const [b, setB] = useState<BackendDraft>({ name: freeName(v), address: "", port: samePort(v), weight: "1" });
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const set = (key: keyof BackendDraft) => (value: string) => setB((old) => ({ ...old, [key]: value }));
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = e.currentTarget as HTMLFormElement;
    setBusy(true);
    try {
      await ask(
        api.POST("/vips/{vip}/backends", { params: { path: { vip: v.name }, query: force(v) }, body: backendOf(b) as BackendSpec }),
      );
      notify(`${b.name} is added`);
      onClose();
    } catch (err) {
      setFailure(err instanceof Failure ? err : new Failure({ detail: message(err) }, 0));
      setBusy(false);
      firstWrong(form);
    }
  };
  const f = failure?.fields ?? {};
  return (
    <Dialog title={`Add a backend to ${v.name}`} onClose={onClose}>
      <form onSubmit={(e) => void submit(e)} noValidate>
        {fileWarning(v) && <p class="muted">{fileWarning(v)}</p>}
        <Field label="Name" value={b.name} onInput={set("name")} error={f.name} name="name" />
        <Field
          label="Address"
          value={b.address}
          onInput={set("address")}
          error={f.address}
          name="address"
          placeholder="10.0.0.5"
          autofocus
        />
        <div class="pair">
          <Field label="Port" value={b.port} onInput={set("port")} error={f.port} name="port" hint="Empty: the VIP's" />
          <Field label="Weight" value={b.weight} onInput={set("weight")} error={f.weight} name="weight" numeric />
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
