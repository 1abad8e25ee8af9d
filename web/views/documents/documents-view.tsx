import { useState } from "preact/hooks";
import { listKnowledge } from "../../api/endpoints.ts";
import type { KnowledgeBase } from "../../api/types.ts";
import { goTo, place } from "../../state/page/route.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useLoaded } from "../loaded.tsx";
import { ViewLinks } from "../view-links.tsx";
import { BaseForm } from "./base-form.tsx";
import { DocumentList } from "./document-list.tsx";
import { PassageSearch } from "./passage-search.tsx";

const addressOf = (prefix: string): string => `#/documents/${encodeURIComponent(prefix)}`;

function Base({ base }: { base: KnowledgeBase }) {
  return (
    <>
      {base.description !== "" && (
        <p class="quiet" dir="auto">
          {base.description}
        </p>
      )}
      <DocumentList prefix={base.kb_prefix} />
      <PassageSearch prefix={base.kb_prefix} />
    </>
  );
}

export function DocumentsView() {
  const t = texts.value.documents;
  const loaded = useLoaded(listKnowledge, []);
  const [isMaking, setIsMaking] = useState(false);
  function onMade(prefix: string): void {
    setIsMaking(false);
    loaded.reload();
    goTo(addressOf(prefix));
  }
  return (
    <div class="page-view" tabIndex={0} role="region" aria-label={t.title}>
      <div class="page-inner">
        <h1>{t.title}</h1>
        <p class="quiet">{t.explain}</p>
        <LoadState of={loaded}>
          {({ knowledge }) => {
            const shown = knowledge.find(({ kb_prefix }) => kb_prefix === place.value.tab) ?? knowledge[0];
            return (
              <>
                {shown && (
                  <>
                    <ViewLinks
                      label={t.bases}
                      class="tabs"
                      names={knowledge.map(({ kb_prefix }) => kb_prefix)}
                      addressOf={addressOf}
                      titleOf={(prefix) => prefix}
                      shown={shown.kb_prefix}
                    />
                    <Base key={shown.kb_prefix} base={shown} />
                  </>
                )}
                {isMaking || knowledge.length === 0 ? (
                  <BaseForm onMade={onMade} />
                ) : (
                  <div class="actions start">
                    <Button onClick={() => setIsMaking(true)}>{t.newBase}</Button>
                  </div>
                )}
              </>
            );
          }}
        </LoadState>
      </div>
    </div>
  );
}
