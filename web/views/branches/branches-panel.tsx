import { useState } from "preact/hooks";
import { eraseBranch, listBranches, listSnapshots } from "../../api/view-endpoints.ts";
import type { Branch } from "../../api/types.ts";
import { isOver } from "../../state/turns/live-turn.ts";
import { switchBranch } from "../../state/thread/rewrite.ts";
import { continueInAnother } from "../../state/thread/fork-conversation.ts";
import { storedMessages } from "../../state/thread/stored-messages.ts";
import { turnsHere } from "../../state/thread/thread.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { Snapshots } from "./snapshots.tsx";

function nameOf({ origin, label }: Branch, number: number): string {
  const t = texts.value.branches;
  return `${number} · ${label ?? (origin === null ? t.first : t.origins[origin])}`;
}

/** A branch and those that leave it, at any depth. */
function withDescendants(all: readonly Branch[], branch: Branch): Branch[] {
  return [branch, ...all.filter(({ parent_id }) => parent_id === branch.id).flatMap((child) => withDescendants(all, child))];
}

interface OneBranchProps {
  all: readonly Branch[];
  branch: Branch;
  onErase: (branch: Branch) => void;
}

function OneBranch({ all, branch, onErase }: OneBranchProps) {
  const t = texts.value;
  const { isBusy, run, note } = useAction();
  const { id, active, message_count, updated_at } = branch;
  const name = nameOf(branch, all.indexOf(branch) + 1);
  const isOnPath = withDescendants(all, branch).some((one) => one.active);
  return (
    <div class={`branch${active ? " is-shown" : ""}`} role="group" aria-label={name}>
      <strong dir="auto">{name}</strong> {active && <span class="badge state-on">{t.branches.shown}</span>}
      <p class="quiet small">
        {t.conversations.messages(message_count)} · {showTime(updated_at)}
      </p>
      {active && (
        <div class="actions start">
          <button type="button" class="quiet-button" disabled={isBusy} onClick={() => void run(() => continueInAnother())}>
            {t.branches.fork}
          </button>
        </div>
      )}
      {!active && (
        <div class="actions start">
          <button type="button" class="quiet-button" disabled={isBusy} onClick={() => void run(() => switchBranch({ branch_id: id }))}>
            {t.branches.switch}
          </button>
          {!isOnPath && <QuietButton onClick={() => onErase(branch)}>{t.branches.erase}</QuietButton>}
        </div>
      )}
      {note}
    </div>
  );
}

function Tree({ of: parent, ...props }: { of: string | null; all: readonly Branch[]; onErase: (branch: Branch) => void }) {
  const branches = props.all.filter(({ parent_id }) => parent_id === parent);
  if (branches.length === 0) return null;
  return (
    <ul class="branch-tree" aria-label={parent === null ? texts.value.branches.title : undefined}>
      {branches.map((branch) => (
        <li key={branch.id}>
          <OneBranch branch={branch} {...props} />
          <Tree of={branch.id} {...props} />
        </li>
      ))}
    </ul>
  );
}

/** The branches of a conversation as a tree, and its snapshots. */
export function BranchesPanel({ conversationId }: { conversationId: string }) {
  const t = texts.value.branches;
  const ended = turnsHere.value.filter(isOver).length;
  const read = () => Promise.all([listBranches(conversationId), listSnapshots(conversationId)]);
  const loaded = useLoaded(read, [conversationId, ended, storedMessages.value.at(-1)?.id]);
  const [erased, setErased] = useState<Branch | null>(null);
  return (
    <div class="inspector">
      <LoadState of={loaded}>
        {([{ branches }, { snapshots }]) => (
          <>
            <p class="quiet small">{t.explain}</p>
            <Tree of={null} all={branches} onErase={setErased} />
            <Snapshots conversationId={conversationId} all={snapshots} onChange={loaded.reload} />
            {erased && (
              <Confirm
                title={t.eraseTitle(nameOf(erased, branches.indexOf(erased) + 1))}
                go={t.erase}
                action={async () => {
                  await eraseBranch(conversationId, erased.id, true);
                  setErased(null);
                  loaded.reload();
                }}
                onClose={() => setErased(null)}
              >
                {t.eraseExplain(withDescendants(branches, erased).length - 1)}
              </Confirm>
            )}
          </>
        )}
      </LoadState>
    </div>
  );
}
