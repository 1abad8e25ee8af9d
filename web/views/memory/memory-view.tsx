import type { ComponentType } from "preact";
import { place } from "../../state/page/route.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { ViewLinks } from "../view-links.tsx";
import { CoreMemory } from "./core-memory.tsx";
import { EpisodeSearch } from "./episode-search.tsx";
import { EraseUser } from "./erase-user.tsx";
import { JobQueue } from "./job-queue.tsx";
import { OperationList } from "./operation-list.tsx";
import { PermissionList } from "./permission-list.tsx";

const TABS = {
  core: CoreMemory,
  episodes: EpisodeSearch,
  changes: OperationList,
  permissions: PermissionList,
  jobs: JobQueue,
  erase: EraseUser,
} satisfies Record<string, ComponentType<{ owner: string }>>;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];
const addressOf = (tab: Tab): string => `#/memory/${tab}`;

const tabOf = (name: string | null): Tab => (name !== null && Object.hasOwn(TABS, name) ? (name as Tab) : "core");

export function MemoryView() {
  const t = texts.value.memory;
  const tab = tabOf(place.value.tab);
  const owner = userId.value;
  const Shown = TABS[tab];
  if (owner === null) return null;
  return (
    <div class="page-view" tabIndex={0} role="region" aria-label={t.title}>
      <div class="page-inner">
        <h1 dir="auto">
          {t.title} · {owner}
        </h1>
        <ViewLinks label={t.title} class="tabs" names={NAMES} addressOf={addressOf} titleOf={(name) => t.tabs[name]} shown={tab} />
        <p class="quiet">{t[tab].explain}</p>
        <Shown key={`${tab}/${owner}`} owner={owner} />
      </div>
    </div>
  );
}
