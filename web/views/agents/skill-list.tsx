import { useState } from "preact/hooks";
import { listSkills, putSkill, readSkill, removeSkill } from "../../api/view-endpoints.ts";
import type { ListedSkill, Skill } from "../../api/types.ts";
import { type Draft, NEW_SKILL } from "./agent-draft.ts";
import { LoadState, useLoaded } from "../loaded.tsx";
import { ThingList } from "./listed.tsx";
import { SpecForm } from "./spec-form.tsx";

const FILE = "SKILL.md";
const FIELD = `files.${FILE}`;

/** The other files of a skill stay as they are. */
function SkillForm({ skill, onSaved }: { skill: Skill | null; onSaved: (name: string) => void }) {
  const [draft, setDraft] = useState<Draft>({ [FIELD]: skill?.files[FILE] ?? NEW_SKILL("my-skill") });
  const put = (name: string, typed: Draft, isTry: boolean) =>
    putSkill(name, { files: { ...skill?.files, [FILE]: typed[FIELD] ?? "" } }, isTry);
  return (
    <SpecForm
      name={skill?.name ?? null}
      draft={draft}
      onChange={setDraft}
      groups={[{ fields: [{ name: FIELD, kind: "code", lines: 14, takesRest: true }] }]}
      put={put}
      onSaved={onSaved}
    />
  );
}

function SkillEditor({ skill, onSaved }: { skill: ListedSkill; onSaved: (name: string) => void }) {
  const loaded = useLoaded(() => readSkill(skill.name), [skill.name]);
  return <LoadState of={loaded}>{(whole) => <SkillForm skill={whole} onSaved={onSaved} />}</LoadState>;
}

export function SkillList() {
  const loaded = useLoaded(() => listSkills().then(({ skills }) => skills), []);
  return (
    <ThingList
      kind="skills"
      of={loaded}
      remove={removeSkill}
      switchOff={(name) => putSkill(name, { disabled: true })}
      editor={(skill, onSaved) => (skill ? <SkillEditor skill={skill} onSaved={onSaved} /> : <SkillForm skill={null} onSaved={onSaved} />)}
    />
  );
}
