import { listAgentVersions } from "../../api/view-endpoints.ts";
import type { AgentSpec } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { LoadState, useLoaded } from "../loaded.tsx";

interface AgentVersionsProps {
  name: string;
  newest: number | null;
  onTake: (spec: AgentSpec) => void;
}

/** An agent's versions, newest first, to bring back into the form. */
export function AgentVersions({ name, newest, onTake }: AgentVersionsProps) {
  const t = texts.value.agents;
  const loaded = useLoaded(() => listAgentVersions(name), [name, newest]);
  return (
    <details class="versions">
      <summary>{t.versions}</summary>
      <LoadState of={loaded}>
        {({ versions }) => (
          <ol class="plain-list">
            {versions.map(({ version, agent, created_at }) => (
              <li key={version} data-version={version} class="card-head">
                <strong>{t.versionIs(version)}</strong>
                <span class="quiet small">{showTime(created_at)}</span>
                <span dir="auto">{agent ? agent.description : t.off}</span>
                {agent && <QuietButton onClick={() => onTake(agent)}>{t.take}</QuietButton>}
              </li>
            ))}
          </ol>
        )}
      </LoadState>
    </details>
  );
}
