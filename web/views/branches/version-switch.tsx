import { useEffect, useRef } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { switchBranch } from "../../state/thread/rewrite.ts";
import { texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { useAction } from "../loaded.tsx";

/** Where the last step led, for the focus. */
let arrived: { messageId: string; step: -1 | 1 } | null = null;

interface StepProps {
  sign: string;
  to: number;
  count: number;
  isBusy: boolean;
  onStep: () => void;
}

function Step({ sign, to, count, isBusy, onStep }: StepProps) {
  const label = texts.value.branches.version(to + 1, count);
  const isThere = to >= 0 && to < count;
  return (
    <button
      type="button"
      class="quiet-button"
      aria-label={isThere ? label : undefined}
      aria-hidden={!isThere}
      title={isThere ? label : undefined}
      disabled={!isThere || isBusy}
      onClick={onStep}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}

/** Which version of a message is shown, with links to its neighbours. */
export function VersionSwitch({ of: { id, versions } }: { of: Message }) {
  const group = useRef<HTMLSpanElement>(null);
  const { isBusy, run, note } = useAction();
  useEffect(() => {
    if (arrived?.messageId !== id) return;
    const [back, forth] = group.current?.querySelectorAll("button") ?? [];
    const wanted = arrived.step === -1 ? back : forth;
    (wanted?.disabled ? (arrived.step === -1 ? forth : back) : wanted)?.focus();
    arrived = null;
  }, []);
  if (!versions) return null;
  const { index, count, message_ids } = versions;
  function step(by: -1 | 1): void {
    const messageId = message_ids[index + by];
    if (messageId === undefined) return;
    arrived = { messageId, step: by };
    void run(() => switchBranch({ message_id: messageId })).then((isDone) => isDone || (arrived = null));
  }
  return (
    <>
      <span class="versions" role="group" aria-label={texts.value.branches.versions} ref={group}>
        <Step sign="‹" to={index - 1} count={count} isBusy={isBusy} onStep={() => step(-1)} />
        <span class="small">{`${index + 1}/${count}`}</span>
        <Step sign="›" to={index + 1} count={count} isBusy={isBusy} onStep={() => step(1)} />
      </span>
      {note}
    </>
  );
}

/** Leads to the newest answer of a question that no longer has one. */
export function EarlierAnswer({ of }: { of: readonly string[] }) {
  const { run, note } = useAction();
  const messageId = of.at(-1);
  if (messageId === undefined) return null;
  return (
    <>
      <QuietButton onClick={() => run(() => switchBranch({ message_id: messageId }))}>{texts.value.branches.earlierAnswer}</QuietButton>
      {note}
    </>
  );
}
