import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../../texts/texts.ts";
import { Button, QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { LoadState, type Loaded } from "../loaded.tsx";

/** What the three lists of this view have in common. */
export interface Thing {
  name: string;
  tier: "tenant" | "system";
  disabled?: boolean;
  description?: string;
}

type Kind = "agents" | "skills" | "servers";

interface ThingListProps<Item extends Thing> {
  kind: Kind;
  of: Loaded<readonly Item[]>;
  /** Null while nothing is edited; `""` of something new. */
  edited: string | null;
  onEdit: (name: string | null) => void;
  editor: (thing: Item | null) => ComponentChildren;
  facts?: (thing: Item) => ComponentChildren;
  actions?: (thing: Item) => ComponentChildren;
  canEdit?: (thing: Item) => boolean;
  remove: (name: string) => Promise<unknown>;
}

/** Lists things by name, and edits one of them in its place. */
export function ThingList<Item extends Thing>(props: ThingListProps<Item>) {
  const { kind, of, edited, onEdit, editor, facts, actions, canEdit = () => true, remove } = props;
  const t = texts.value.agents;
  const [removing, setRemoving] = useState<string | null>(null);
  return (
    <>
      <LoadState of={of}>
        {(things) => (
          <>
            {things.length === 0 && <p class="quiet">{t.none[kind]}</p>}
            <ul class="cards">
              {things.map((thing) => (
                <li key={thing.name} class="card" data-name={thing.name}>
                  <p class="card-head">
                    <strong dir="auto">{thing.name}</strong>
                    {thing.tier === "system" && <span class="badge">{t.system}</span>}
                    {thing.disabled === true && <span class="badge state-down">{t.disabled}</span>}
                    {facts?.(thing)}
                  </p>
                  {thing.description !== undefined && <p dir="auto">{thing.description}</p>}
                  <div class="actions start">
                    {canEdit(thing) && (
                      <QuietButton onClick={() => onEdit(edited === thing.name ? null : thing.name)}>
                        {edited === thing.name ? texts.value.close : t.edit}
                      </QuietButton>
                    )}
                    {actions?.(thing)}
                    {thing.tier === "tenant" && <QuietButton onClick={() => setRemoving(thing.name)}>{t.remove}</QuietButton>}
                  </div>
                  {edited === thing.name && editor(thing)}
                </li>
              ))}
            </ul>
          </>
        )}
      </LoadState>
      {edited === "" ? editor(null) : null}
      <div class="actions start">
        <Button onClick={() => onEdit(edited === "" ? null : "")}>{edited === "" ? texts.value.cancel : t.fresh[kind]}</Button>
      </div>
      {removing !== null && (
        <Confirm
          title={t.removeAsk(removing)}
          go={t.remove}
          action={() =>
            remove(removing).then(() => {
              setRemoving(null);
              of.reload();
            })
          }
          onClose={() => setRemoving(null)}
        >
          {t.removeExplain}
        </Confirm>
      )}
    </>
  );
}
