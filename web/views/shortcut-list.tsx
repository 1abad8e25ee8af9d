import { texts } from "../texts/texts.ts";

/** Which key does what. */
export function ShortcutList() {
  return (
    <dl class="shortcuts">
      {texts.value.shortcuts.list.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
