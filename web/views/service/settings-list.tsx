import { useState } from "preact/hooks";
import { listSettings } from "../../api/view-endpoints.ts";
import type { SettingList } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";

type Setting = SettingList["settings"][number];

function valueOf({ value, secret, set }: Setting): string {
  const t = texts.value.service;
  if (secret) return set ? t.secretSet : t.notSet;
  return value ?? t.notSet;
}

function OneSetting({ setting }: { setting: Setting }) {
  const { name, set, meaning } = setting;
  return (
    <li data-setting={name} class="setting-row">
      <code>{name}</code>
      <span>
        {set && <span class="badge">{texts.value.service.changed}</span>}{" "}
        <code class="as-written" dir="auto">
          {valueOf(setting)}
        </code>
      </span>
      {/* The service explains its settings in English. */}
      <span class="quiet small" lang="en">
        {meaning}
      </span>
    </li>
  );
}

function Shown({ list: { version, node, settings } }: { list: SettingList }) {
  const t = texts.value.service;
  const [isAll, setIsAll] = useState(false);
  const shown = settings.filter(({ set }) => isAll || set);
  return (
    <>
      <p data-version={version}>{t.version(version, node)}</p>
      <label class="check">
        <input type="checkbox" checked={isAll} onChange={({ currentTarget }) => setIsAll(currentTarget.checked)} />
        <span>{t.allSettings}</span>
      </label>
      {shown.length === 0 && <p class="quiet">{t.allDefault}</p>}
      <ul class="states">
        {shown.map((setting) => (
          <OneSetting key={setting.name} setting={setting} />
        ))}
      </ul>
    </>
  );
}

function ReadSettings() {
  const loaded = useLoaded(listSettings, []);
  if (loaded.error?.status === 403) return <p class="quiet">{texts.value.service.settingsForbidden}</p>;
  return <LoadState of={loaded}>{(list) => <Shown list={list} />}</LoadState>;
}

export function SettingsList() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="card" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <h2>{texts.value.service.settings}</h2>
      </summary>
      {isOpen && <ReadSettings />}
    </details>
  );
}
