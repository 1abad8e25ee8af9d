import { useState } from "preact/hooks";
import { listAgents, listKnowledge } from "../../api/endpoints.ts";
import { putAgent, removeAgent } from "../../api/view-endpoints.ts";
import type { ListedAgent } from "../../api/types.ts";
import { agentDraft, type Draft, toAgent } from "./agent-draft.ts";
import { ASSISTANT } from "../../state/turns/team.ts";
import { texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { useLoaded } from "../loaded.tsx";
import { AgentFigures } from "./agent-figures.tsx";
import { AgentVersions } from "./agent-versions.tsx";
import { ThingList } from "./listed.tsx";
import { type FieldGroup, SpecForm } from "./spec-form.tsx";
import { TryPanel } from "./try-panel.tsx";

const plain = (names: readonly string[]) => names.map((name) => ({ name }));

function groupsOf(bases: readonly string[]): FieldGroup[] {
  const t = texts.value.agents;
  return [
    {
      fields: [
        { name: "description", lines: 2 },
        { name: "instructions", lines: 5 },
        { name: "tools", lines: 3, kind: "code" },
        { name: "permissions", lines: 3, kind: "code" },
        { name: "keywords", lines: 2 },
        { name: "skills", lines: 2, kind: "code" },
        { name: "knowledge", kind: "choice", options: [["", t.routed], ["-", t.noBase], ...bases.map((name) => [name, name] as const)] },
      ],
    },
    {
      title: t.team,
      fields: [
        { name: "team.strategy", kind: "choice", options: Object.entries(t.strategies) },
        { name: "team.share", kind: "choice", options: Object.entries(t.shares) },
        { name: "limits.max_depth" },
        { name: "subagents", lines: 2, kind: "code" },
        { name: "handoffs", lines: 2, kind: "code" },
      ],
    },
    { title: texts.value.chat.model, fields: plain(["model", "temperature", "max_output_tokens"]) },
    { title: t.limits, fields: plain(["limits.max_steps", "limits.max_tool_calls", "limits.timeout_s", "limits.parallel_tools"]) },
    {
      title: t.memory,
      fields: plain(["memory.summary", "memory.episodic", "memory.core_memory"]).map((one) => ({ ...one, kind: "check" })),
    },
  ];
}

const put = (name: string, draft: Draft, isTry: boolean) => putAgent(name, toAgent(draft), isTry);

function AgentEditor({ agent, onSaved }: { agent: ListedAgent | null; onSaved: (name: string) => void }) {
  const [draft, setDraft] = useState<Draft>(() => agentDraft(agent ?? { description: "" }));
  const { value } = useLoaded(() => listKnowledge().catch(() => null), []);
  const bases = value?.knowledge.map(({ kb_prefix }) => kb_prefix) ?? [];
  return (
    <>
      <SpecForm name={agent?.name ?? null} draft={draft} onChange={setDraft} groups={groupsOf(bases)} put={put} onSaved={onSaved} />
      {agent?.tier === "tenant" && <AgentVersions name={agent.name} newest={agent.version} onTake={(spec) => setDraft(agentDraft(spec))} />}
    </>
  );
}

export function AgentList() {
  const t = texts.value.agents;
  const loaded = useLoaded(() => listAgents().then(({ agents }) => agents), []);
  const [tried, setTried] = useState<string | null>(null);
  return (
    <>
      <ThingList
        kind="agents"
        of={loaded}
        remove={removeAgent}
        canEdit={({ name }) => name !== ASSISTANT}
        editor={(agent, onSaved) => <AgentEditor agent={agent} onSaved={onSaved} />}
        describe={({ name, description }) => (name === ASSISTANT ? t.builtIn : description)}
        facts={({ version }) => version !== null && <span class="quiet small">{t.versionIs(version)}</span>}
        switchOff={(name) => putAgent(name, { disabled: true })}
        more={({ name }) => <AgentFigures name={name} />}
        actions={({ name, disabled }) => !disabled && <QuietButton onClick={() => setTried(name)}>{t.try}</QuietButton>}
      />
      {tried !== null && <TryPanel agent={tried} onClose={() => setTried(null)} />}
    </>
  );
}
