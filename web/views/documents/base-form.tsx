import { useState } from "preact/hooks";
import { putKnowledge } from "../../api/view-endpoints.ts";
import { texts } from "../../texts/texts.ts";
import { submitting, useAction } from "../loaded.tsx";

/** Makes a knowledge base. */
export function BaseForm({ onMade }: { onMade: (prefix: string) => void }) {
  const t = texts.value.documents;
  const [prefix, setPrefix] = useState("");
  const [description, setDescription] = useState("");
  const [keywords, setKeywords] = useState("");
  const { isBusy, run, note } = useAction();
  async function make(): Promise<void> {
    const words = keywords.split(/[,，、]/u).map((word) => word.trim());
    await putKnowledge(prefix, { description: description.trim(), keywords: words.filter((word) => word !== "") });
    onMade(prefix);
  }
  return (
    <form class="card stack" onSubmit={submitting(() => run(make))}>
      <h2>{t.newBase}</h2>
      <label class="field">
        <span>{t.name}</span>
        <input
          type="text"
          required
          maxLength={64}
          pattern="[a-z0-9][a-z0-9_\-]*"
          title={t.nameRule}
          value={prefix}
          onInput={({ currentTarget }) => setPrefix(currentTarget.value.toLowerCase())}
        />
      </label>
      <label class="field">
        <span>{t.description}</span>
        <input type="text" dir="auto" required value={description} onInput={({ currentTarget }) => setDescription(currentTarget.value)} />
      </label>
      <label class="field">
        <span>{t.keywords}</span>
        <input type="text" dir="auto" value={keywords} onInput={({ currentTarget }) => setKeywords(currentTarget.value)} />
      </label>
      {note}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy || prefix === "" || description.trim() === ""}>
          {t.make}
        </button>
      </div>
    </form>
  );
}
