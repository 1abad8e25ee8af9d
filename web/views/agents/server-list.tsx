import { useState } from "preact/hooks";
import { listServers, putServer, removeServer } from "../../api/view-endpoints.ts";
import type { ListedMcpServer } from "../../api/types.ts";
import { type Draft, toServer } from "./agent-draft.ts";
import { texts } from "../../texts/texts.ts";
import { useLoaded } from "../loaded.tsx";
import { McpState } from "../mcp-state.tsx";
import { ThingList } from "./listed.tsx";
import { SpecForm } from "./spec-form.tsx";

const put = (name: string, draft: Draft, isTry: boolean) => putServer(name, toServer(draft), isTry);

function ServerEditor({ server, onSaved }: { server: ListedMcpServer | null; onSaved: (name: string) => void }) {
  const [draft, setDraft] = useState<Draft>({ url: server?.url ?? "", headers: "" });
  const kept = server?.headers ?? [];
  return (
    <SpecForm
      name={server?.name ?? null}
      draft={draft}
      onChange={setDraft}
      groups={[{ fields: [{ name: "url" }, { name: "headers", kind: "code", lines: 3 }] }]}
      put={put}
      onSaved={onSaved}
    >
      {kept.length > 0 && (
        <p class="quiet small" dir="auto">
          {texts.value.agents.kept(kept.join(", "))}
        </p>
      )}
    </SpecForm>
  );
}

export function ServerList() {
  const t = texts.value.agents;
  const loaded = useLoaded(() => listServers().then(({ mcp_servers: servers }) => servers), []);
  return (
    <ThingList
      kind="servers"
      of={loaded}
      remove={removeServer}
      canEdit={({ tier }) => tier === "tenant"}
      editor={(server, onSaved) => <ServerEditor server={server} onSaved={onSaved} />}
      facts={({ state, tools, problem, url }) => (
        <>
          <McpState state={state} />
          <span class="quiet small" dir="auto">
            {[url, tools === null ? null : t.tools(tools), problem].filter(Boolean).join(" · ")}
          </span>
        </>
      )}
    />
  );
}
