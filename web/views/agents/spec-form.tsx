import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import type { Problem } from "../../api/types.ts";
import type { Draft } from "./agent-draft.ts";
import { texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { submitting } from "../loaded.tsx";

/** Milliseconds after the last key. */
const CHECK_AFTER_MS = 300;

/** A field of a draft; `lines` counts those of its box, without them it has one. */
export interface Field {
  name: string;
  kind?: "text" | "code" | "check" | "choice";
  lines?: number;
  options?: readonly (readonly [value: string, shown: string])[];
  /** What is wrong elsewhere is said here. */
  takesRest?: boolean;
}

const NAME: Field = { name: "name" };

/** A group of fields, folded when it has a title. */
export interface FieldGroup {
  title?: string;
  fields: readonly Field[];
}

interface SpecFormProps {
  /** Null: it is new, and gets a name. */
  name: string | null;
  draft: Draft;
  onChange: (draft: Draft) => void;
  groups: readonly FieldGroup[];
  /** `isTry`: the service checks it and does not keep it. */
  put: (name: string, draft: Draft, isTry: boolean) => Promise<{ name: string; warnings?: readonly Problem[] }>;
  onSaved: (name: string) => void;
  children?: ComponentChildren;
}

const isAbout = (field: string, { field: named }: Problem): boolean => named === field || named.startsWith(`${field}.`);

interface FieldRowProps {
  field: Field;
  value: string;
  problems: readonly Problem[];
  warnings?: readonly Problem[];
  onInput: (value: string) => void;
}

const inWords = (name: string, problems: readonly Problem[]): string =>
  problems.map(({ field, problem }) => (field === name ? problem : `${field}: ${problem}`)).join("; ");

function FieldRow({ field: { name, kind = "text", lines, options = [] }, value, problems, warnings = [], onInput }: FieldRowProps) {
  const t = texts.value.agents;
  const problemId = useId();
  const wrong = problems.length > 0 ? { "aria-invalid": true, "aria-describedby": problemId } : {};
  const common = { value, ...wrong, onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput(currentTarget.value) };
  const label = t.fields[name] ?? name;
  if (kind === "check")
    return (
      <label class="check">
        <input type="checkbox" checked={value !== "false"} onChange={({ currentTarget }) => onInput(String(currentTarget.checked))} />
        <span>{label}</span>
      </label>
    );
  return (
    <div class="field" data-field={name}>
      <label class="field">
        <span>{label}</span>
        {kind === "choice" ? (
          <select {...common}>
            {options.map(([option, shown]) => (
              <option key={option} value={option}>
                {shown}
              </option>
            ))}
          </select>
        ) : lines === undefined ? (
          <input type="text" dir="auto" {...common} />
        ) : (
          <textarea rows={lines} dir="auto" class={kind === "code" ? "section-text code-text" : "section-text"} {...common} />
        )}
      </label>
      {problems.length > 0 && (
        <p id={problemId} class="problem small" dir="auto">
          {inWords(name, problems)}
        </p>
      )}
      {warnings.length > 0 && (
        <p class="quiet small" dir="auto">
          {inWords(name, warnings)}
        </p>
      )}
    </div>
  );
}

/** Edits a thing of the service, which checks the text and reports problems at each field. */
export function SpecForm({ name, draft, onChange, groups, put, onSaved, children }: SpecFormProps) {
  const t = texts.value.agents;
  const [newName, setNewName] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [warnings, setWarnings] = useState<readonly Problem[]>([]);
  const [state, setState] = useState<"typed" | "fits" | "saved">("typed");
  const [isBusy, setIsBusy] = useState(false);
  const called = name ?? newName;

  useEffect(() => {
    if (called === "") return undefined;
    let isWanted = true;
    const timer = setTimeout(
      () =>
        void put(called, draft, true).then(
          (answer) => isWanted && (setError(null), setWarnings(answer.warnings ?? []), setState("fits")),
          (thrown: unknown) => isWanted && (setError(toApiError(thrown)), setState("typed")),
        ),
      CHECK_AFTER_MS,
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [called, draft]);

  async function save(): Promise<void> {
    setIsBusy(true);
    try {
      await put(called, draft, false);
      setError(null);
      setState("saved");
      onSaved(called);
    } catch (thrown) {
      setError(toApiError(thrown));
      setState("typed");
    } finally {
      setIsBusy(false);
    }
  }

  const problems = error?.details ?? [];
  const fields = [...(name === null ? [NAME] : []), ...groups.flatMap((group) => group.fields)];
  const nowhere = problems.filter((problem) => !fields.some((field) => isAbout(field.name, problem)));
  const problemsAt = (field: Field): Problem[] => [
    ...problems.filter((problem) => isAbout(field.name, problem)),
    ...(field.takesRest === true ? nowhere : []),
  ];
  const isSaidAtFields = problems.length > 0 && (nowhere.length === 0 || fields.some(({ takesRest }) => takesRest));
  const row = (field: Field) => (
    <FieldRow
      key={field.name}
      field={field}
      value={draft[field.name] ?? ""}
      problems={problemsAt(field)}
      warnings={warnings.filter((warning) => isAbout(field.name, warning))}
      onInput={(value) => onChange({ ...draft, [field.name]: value })}
    />
  );
  return (
    <form class={name === null ? "card stack" : "history stack"} onSubmit={submitting(save)}>
      {name === null && <FieldRow field={NAME} value={newName} problems={problemsAt(NAME)} onInput={setNewName} />}
      {groups.map(({ title, fields: own }) =>
        title === undefined ? (
          own.map(row)
        ) : (
          <details key={title}>
            <summary>{title}</summary>
            <div class="state-grid">{own.map(row)}</div>
          </details>
        ),
      )}
      {children}
      {error && !isSaidAtFields && <ErrorNote error={error} />}
      <div class="actions start">
        <button type="submit" class="primary" disabled={isBusy || called === ""}>
          {t.save}
        </button>
        <span class="quiet small" role="status">
          {state === "fits" ? t.fits : state === "saved" ? t.saved : ""}
        </span>
      </div>
    </form>
  );
}
