import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../../texts/texts.ts";
import { Button, QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { LoadState, type Loaded, useAction } from "../loaded.tsx";

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
  editor: (thing: Item | null, onSaved: (name: string) => void) => ComponentChildren;
  /** In the language of the page, where the service's own words are English. */
  describe?: (thing: Item) => string | undefined;
  facts?: (thing: Item) => ComponentChildren;
  actions?: (thing: Item) => ComponentChildren;
  more?: (thing: Item) => ComponentChildren;
  canEdit?: (thing: Item) => boolean;
  remove: (name: string) => Promise<unknown>;
  /** For things of the system. */
  switchOff?: (name: string) => Promise<unknown>;
}

export function ThingList<Item extends Thing>(props: ThingListProps<Item>) {
  const {
    kind,
    of,
    editor,
    describe = ({ description }) => description,
    facts,
    actions,
    more,
    canEdit = () => true,
    remove,
    switchOff,
  } = props;
  const t = texts.value.agents;
  /** Null while nothing is edited; `""` of something new. */
  const [edited, setEdited] = useState<string | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const { run, note } = useAction();
  function onSaved(name: string): void {
    setEdited(name);
    of.reload();
  }
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
                  {describe(thing) !== undefined && <p dir="auto">{describe(thing)}</p>}
                  <div class="actions start">
                    {canEdit(thing) && (
                      <QuietButton onClick={() => setEdited(edited === thing.name ? null : thing.name)}>
                        {edited === thing.name ? texts.value.close : t.edit}
                      </QuietButton>
                    )}
                    {actions?.(thing)}
                    {switchOff && thing.tier === "system" && canEdit(thing) && (
                      <QuietButton onClick={() => run(() => switchOff(thing.name).then(of.reload))}>{t.switchOff}</QuietButton>
                    )}
                    {thing.tier === "tenant" && <QuietButton onClick={() => setRemoving(thing.name)}>{t.remove}</QuietButton>}
                  </div>
                  {more?.(thing)}
                  {edited === thing.name && editor(thing, onSaved)}
                </li>
              ))}
            </ul>
          </>
        )}
      </LoadState>
      {edited === "" ? editor(null, onSaved) : null}
      <div class="actions start">
        <Button onClick={() => setEdited(edited === "" ? null : "")}>{edited === "" ? texts.value.cancel : t.fresh[kind]}</Button>
      </div>
      {note}
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
