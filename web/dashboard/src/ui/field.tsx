import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  value: string;
  onInput: (v: string) => void;
  error?: string;
  hint?: string;
  numeric?: boolean;
  placeholder?: string;
  options?: [value: string, text: string][];
  autofocus?: boolean;
  /** Its label is for screen readers alone. */
  bare?: boolean;
  name?: string;
}

/** A labelled input; what is wrong with it stands below and is tied to it. */
export function Field({ label, value, onInput, error, hint, options, bare, numeric, ...rest }: FieldProps) {
  const id = useId();
  const common = {
    id,
    value,
    "aria-invalid": error ? true : undefined,
    "aria-describedby": error ? `${id}-error` : hint ? `${id}-hint` : undefined,
    onInput: (e: Event) => onInput((e.currentTarget as HTMLInputElement | HTMLSelectElement).value),
  };
  return (
    <div class={error ? "field wrong" : "field"}>
      <label for={id} class={bare ? "hidden" : undefined}>
        {label}
      </label>
      {options ? (
        <select {...common} name={rest.name}>
          {options.map(([v, text]) => (
            <option key={v} value={v}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input {...common} {...rest} type="text" inputMode={numeric ? "numeric" : undefined} autocomplete="off" spellcheck={false} />
      )}
      {error ? (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      ) : hint ? (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

/** The input that filters a list. What it filters is for screen readers. */
export function Filter({ what, hint, text, onText }: { what: string; hint: string; text: string; onText: (t: string) => void }) {
  return (
    <label class="search">
      <span class="hidden">Filter {what}</span>
      <input type="search" placeholder={hint} value={text} onInput={(e) => onText(e.currentTarget.value)} />
    </label>
  );
}
