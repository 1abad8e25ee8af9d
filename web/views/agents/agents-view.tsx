import { place } from "../../state/page/route.ts";
import { texts } from "../../texts/texts.ts";
import { ViewLinks } from "../view-links.tsx";
import { AgentList } from "./agent-list.tsx";
import { ServerList } from "./server-list.tsx";
import { SkillList } from "./skill-list.tsx";

const TABS = { agents: AgentList, skills: SkillList, servers: ServerList };
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];
const addressOf = (tab: Tab): string => `#/agents/${tab}`;

const tabOf = (name: string | null): Tab => (name !== null && Object.hasOwn(TABS, name) ? (name as Tab) : "agents");

export function AgentsView() {
  const t = texts.value.agents;
  const tab = tabOf(place.value.tab);
  const Shown = TABS[tab];
  return (
    <div class="page-view" tabIndex={0} role="region" aria-label={t.title}>
      <div class="page-inner">
        <h1>{t.title}</h1>
        <ViewLinks label={t.title} class="tabs" names={NAMES} addressOf={addressOf} titleOf={(name) => t.tabs[name]} shown={tab} />
        <p class="quiet">
          {t.explain[tab]} {t.shared}
        </p>
        <Shown key={tab} />
      </div>
    </div>
  );
}
