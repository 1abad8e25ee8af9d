import { readPassage } from "../api/endpoints.ts";
import { texts } from "../texts/texts.ts";
import { LoadState, useLoaded } from "./loaded.tsx";

export function PassageText({ prefix, id }: { prefix: string; id: string }) {
  const loaded = useLoaded(() => readPassage(prefix, id), [prefix, id]);
  if (loaded.error?.status === 404) return <p class="quiet">{texts.value.inspector.passageGone}</p>;
  return (
    <LoadState of={loaded}>
      {({ heading, text }) => (
        <>
          {heading !== "" && (
            <p class="quiet small" dir="auto">
              {heading}
            </p>
          )}
          <blockquote class="as-written" dir="auto">
            {text}
          </blockquote>
        </>
      )}
    </LoadState>
  );
}
