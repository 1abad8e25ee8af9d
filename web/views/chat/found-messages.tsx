import { useEffect, useState } from "preact/hooks";
import { findMessages } from "../../api/endpoints.ts";
import { chatAddress } from "../../state/page/route.ts";
import { userId } from "../../state/page/settings.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";

/** Milliseconds without typing before a search. */
const PAUSE_MS = 300;
const SHOWN = 140;

/** The words when nobody has typed for a moment. */
export function useSettled(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return settled;
}

/** Around the first of the words. */
function excerpt(content: string, words: string): string {
  const [first = ""] = words.toLowerCase().split(/\s+/);
  const from = Math.max(0, content.toLowerCase().indexOf(first) - SHOWN / 4);
  return `${from > 0 ? "…" : ""}${content.slice(from, from + SHOWN)}${from + SHOWN < content.length ? "…" : ""}`;
}

export function FoundMessages({ words: settled }: { words: string }) {
  const t = texts.value.conversations;
  const owner = userId.value ?? "";
  const loaded = useLoaded(() => findMessages(owner, settled), [owner, settled]);
  if (loaded.error?.code === "index_unavailable") return <p class="quiet small">{t.noSearch}</p>;
  return (
    <section class="found" aria-label={t.messagesFound}>
      <h2>{t.messagesFound}</h2>
      <LoadState of={loaded}>
        {({ messages }) => (
          <>
            {messages.length === 0 && <p class="quiet small">{t.nothingFound}</p>}
            <ul class="plain-list">
              {messages.map(({ id, conversation_id, content, role, created_at }) => (
                <li key={id} class="conversation">
                  <a href={chatAddress(conversation_id, id)}>
                    <span class="found-words" dir="auto">
                      {excerpt(content, settled)}
                    </span>
                    <span class="quiet small">
                      {role === "user" ? texts.value.chat.you : texts.value.chat.assistant} · {showTime(created_at)}
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
      </LoadState>
    </section>
  );
}
