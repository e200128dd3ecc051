import { useState } from "preact/hooks";
import { setToken, token } from "../api";
import { Card } from "../ui/parts";

/** Asks for the token that the API wants. */
export function TokenForm() {
  const [value, setValue] = useState("");
  return (
    <div class="login">
      <Card title="This controller asks for a token">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            if (value.trim()) setToken(value.trim());
          }}
        >
          <p class="muted">
            It is the one in the file that <code>evenflow serve --token-file</code> names. It is kept until this tab is closed.
          </p>
          <label class="field">
            <span>Token</span>
            <input
              type="password"
              autocomplete="current-password"
              value={value}
              onInput={(e) => setValue(e.currentTarget.value)}
              autofocus
              required
            />
          </label>
          {token.value && (
            <p class="field-error" role="alert">
              The controller has refused this token.
            </p>
          )}
          <div class="form-actions">
            <button class="button primary">Continue</button>
          </div>
        </form>
      </Card>
    </div>
  );
}
