import type { ComponentChildren } from "preact";
import type { Operation } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";

/** One change of the memory: from what to what, by whom and why. */
export function OperationCard({ operation, children }: { operation: Operation; children?: ComponentChildren }) {
  const { changes, core } = texts.value.memory;
  const { section, old_value, new_value, reason, refused, actor, created_at } = operation;
  return (
    <li class="card operation">
      <p class="card-head">
        <strong>
          {section === null ? (changes.operations[operation.operation] ?? operation.operation) : (core.sections[section] ?? section)}
        </strong>
        {refused !== null && <span class="badge state-failed">{changes.refused}</span>}
        <span class="quiet small">
          {core.by(actor)} · {showTime(created_at)}
        </span>
      </p>
      <dl class="diff">
        <dt>{changes.before}</dt>
        <dd class="before" dir="auto">
          {old_value ?? <em>{changes.nothing}</em>}
        </dd>
        <dt>{changes.after}</dt>
        <dd class="after" dir="auto">
          {new_value ?? <em>{changes.nothing}</em>}
        </dd>
      </dl>
      {(refused ?? reason) !== null && (
        <p class="quiet small" dir="auto">
          {refused ?? reason}
        </p>
      )}
      {children}
    </li>
  );
}
