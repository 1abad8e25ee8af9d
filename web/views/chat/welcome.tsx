import { listKnowledge, readStatus } from "../../api/endpoints.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { ModelTest } from "../model-test.tsx";
import { useLoaded } from "../loaded.tsx";

/** Puts an example into the message field; nothing is sent. */
function propose(example: string): void {
  const field = document.querySelector<HTMLTextAreaElement>("#message");
  if (!field) return;
  field.value = example;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
}

export function Welcome() {
  const t = texts.value.welcome;
  const { value: status } = useLoaded(readStatus, [userId.value]);
  const { value: list } = useLoaded(() => listKnowledge().catch(() => null), [userId.value]);
  const isOffline = status?.models.chat === "offline";
  return (
    <div class="welcome-cards">
      <p class="empty">{texts.value.chat.empty}</p>
      <ul class="plain-list first-cards">
        <li class="card">
          <h2>{t.talk}</h2>
          <p class="quiet small">{t.talkExplain}</p>
          {t.examples.map((example) => (
            <button key={example} type="button" class="quiet-button example" onClick={() => propose(example)}>
              {example}
            </button>
          ))}
        </li>
        <li class="card">
          <h2>{t.documents}</h2>
          <p class="quiet small">{list && list.knowledge.length > 0 ? t.documentsThere(list.knowledge.length) : t.documentsExplain}</p>
          <a href="#/documents">{t.documentsGo}</a>
        </li>
        <li class="card">
          <h2>{isOffline ? t.connect : t.model}</h2>
          {isOffline ? (
            <>
              <p class="quiet small">{t.connectExplain}</p>
              <pre class="small">{`OPENAI_API_KEY=…\n# ${t.orLocal}\nOPENAI_BASE_URL=http://127.0.0.1:11434/v1\nCHAT_MODEL=qwen3:8b`}</pre>
            </>
          ) : (
            <p class="quiet small" dir="auto">
              {status ? t.modelIs(status.models.chat) : texts.value.loading}
            </p>
          )}
          <ModelTest />
          <a href="#/service">{t.state}</a>
        </li>
      </ul>
    </div>
  );
}
