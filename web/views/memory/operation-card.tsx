import type { ComponentChildren } from "preact";
import type { Operation } from "../../api/types.ts";
import { diffLines } from "./line-diff.ts";
import { showTime, texts } from "../../texts/texts.ts";

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
      <div class="diff">
        {diffLines(old_value, new_value).map(({ kind, lines }, index) => (
          <p key={index} class={kind} dir="auto">
            {kind !== "same" && <span class="visually-hidden">{changes[kind]}: </span>}
            {lines.join("\n")}
          </p>
        ))}
        {new_value === null && (
          <p class="after">
            <em>{changes.nothing}</em>
          </p>
        )}
      </div>
      {(refused ?? reason) !== null && (
        <p class="quiet small" dir="auto">
          {refused ?? reason}
        </p>
      )}
      {children}
    </li>
  );
}
