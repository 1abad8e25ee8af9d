import type { ComponentChildren } from "preact";
import { texts } from "../texts/texts.ts";
import { ErrorNote } from "./error-note.tsx";
import type { Loaded } from "./use-loaded.ts";

/** What was read, or that it is being read, or why it could not be. */
export function LoadState<Value>({ of, children }: { of: Loaded<Value>; children: (value: Value) => ComponentChildren }) {
  if (of.error) {
    return (
      <ErrorNote error={of.error}>
        <button type="button" onClick={of.reload}>
          {texts.value.retry}
        </button>
      </ErrorNote>
    );
  }
  if (of.value === null) return <p class="quiet">{texts.value.loading}</p>;
  return <>{children(of.value)}</>;
}
