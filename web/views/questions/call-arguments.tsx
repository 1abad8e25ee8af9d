import { texts } from "../../texts/texts.ts";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The named arguments of a call, or the model's text if they are no object. */
export function CallArguments({ of }: { of: unknown }) {
  const t = texts.value.questions;
  const fields = isObject(of) ? Object.entries(of) : null;
  if (fields?.length === 0) return <p class="quiet small">{t.noArguments}</p>;
  return (
    <div class="call-arguments" role="group" tabIndex={0} aria-label={t.arguments}>
      {fields ? (
        <dl>
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd class="as-written" dir="auto">
                {written(value)}
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <pre class="as-written" dir="auto">
          {written(of)}
        </pre>
      )}
    </div>
  );
}
