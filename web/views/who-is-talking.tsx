import { useEffect, useRef, useState } from "preact/hooks";
import { randomId } from "../browser/random-id.ts";
import { switchUser } from "../state/thread/user.ts";
import { texts } from "../texts/texts.ts";
import { submitting } from "./loaded.tsx";

/** Whoever does not mind what they are called goes on at once. */
const suggestedName = (): string => `guest-${randomId().slice(0, 4)}`;

/** The first thing the page asks. */
export function WhoIsTalking() {
  const t = texts.value.who;
  const [name, setName] = useState(suggestedName);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <div class="welcome">
      <form class="card stack" onSubmit={submitting(() => name.trim() !== "" && switchUser(name.trim()))}>
        <h1>{t.title}</h1>
        <p class="quiet">{t.explain}</p>
        <label class="field">
          <span>{t.label}</span>
          <input
            type="text"
            ref={field}
            dir="auto"
            autocomplete="username"
            maxLength={200}
            required
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={name.trim() === ""}>
          {t.go}
        </button>
      </form>
    </div>
  );
}
