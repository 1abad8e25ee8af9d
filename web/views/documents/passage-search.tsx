import { useState } from "preact/hooks";
import { findPassages } from "../../api/view-endpoints.ts";
import type { FoundPassages } from "../../api/types.ts";
import { showNumber, texts } from "../../texts/texts.ts";
import { submitting, useAction } from "../loaded.tsx";

function Found({ found: { passages, degraded } }: { found: FoundPassages }) {
  const t = texts.value.documents;
  return (
    <>
      {degraded && <p class="note warning">{texts.value.memory.episodes.degraded}</p>}
      {passages.length === 0 && !degraded && <p class="quiet">{t.nothing}</p>}
      <ol class="cards">
        {passages.map(({ id, title, heading, text, score }, index) => (
          <li key={id} class="card" data-passage={id}>
            <p class="card-head">
              <strong dir="auto">{title}</strong>
              <span class="quiet small" dir="auto">
                {heading}
              </span>
              <span class="badge">{t.rank(index + 1)}</span>
              {/* It compares the passages of one answer: one alone has nothing to be compared with. */}
              {passages.length > 1 && <span class="quiet small">{t.score(showNumber(score, 3))}</span>}
            </p>
            <blockquote class="as-written" dir="auto">
              {text}
            </blockquote>
          </li>
        ))}
      </ol>
    </>
  );
}

export function PassageSearch({ prefix }: { prefix: string }) {
  const t = texts.value.documents;
  const [words, setWords] = useState("");
  const [found, setFound] = useState<FoundPassages | null>(null);
  const { isBusy, run, note } = useAction();
  const search = () => run(async () => setFound(await findPassages(prefix, words.trim())));
  return (
    <section class="stack" aria-label={t.search}>
      <h2>{t.search}</h2>
      <form class="search" onSubmit={submitting(() => words.trim() !== "" && search())}>
        <input
          type="search"
          dir="auto"
          aria-label={t.question}
          placeholder={t.question}
          maxLength={4_000}
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={isBusy || words.trim() === ""}>
          {t.go}
        </button>
      </form>
      {note}
      {found && <Found found={found} />}
    </section>
  );
}
