import type { ComponentChildren } from "preact";
import type { ErrorContent } from "../api/types.ts";
import { texts } from "../texts/texts.ts";

interface ErrorNoteProps {
  error: Omit<ErrorContent, "retryable">;
  title?: string;
  children?: ComponentChildren;
}

/** An error in the page's language, with its code and the service's own words. */
export function ErrorNote({ error, title, children }: ErrorNoteProps) {
  const known = texts.value.errors[error.code];
  return (
    <div class="note error" role="alert">
      {title !== undefined && <strong>{title}</strong>}
      <p dir="auto">
        {known ?? error.message} <code class="code">{error.code}</code>
      </p>
      {known !== undefined && known !== error.message && (
        <p class="quiet small" dir="auto">
          {error.message}
        </p>
      )}
      {children}
    </div>
  );
}
