import { useEffect } from "preact/hooks";
import { readStatus } from "../../api/endpoints.ts";
import type { Layer, Status } from "../../api/types.ts";
import { saveExport } from "../../state/page/save-export.ts";
import { userId } from "../../state/page/settings.ts";
import { texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { ModelTest } from "../model-test.tsx";
import { McpState } from "../mcp-state.tsx";
import { Latency } from "./latency.tsx";
import { Limits } from "./limits.tsx";
import { Queue } from "./queue.tsx";
import { SettingsList } from "./settings-list.tsx";
import { Spending } from "./spending.tsx";

const LOOK_AGAIN_MS = 5_000;

function Dependencies({ status: { dependencies, mcp_servers: servers } }: { status: Status }) {
  const t = texts.value.service;
  return (
    <section class="card">
      <h2>{t.dependencies}</h2>
      <ul class="states">
        {Object.entries(dependencies).map(([name, state]) => (
          <li key={name} data-dependency={name}>
            <span>{t.names[name] ?? name}</span>
            <span class={`badge state-${state}`}>{t[state]}</span>
          </li>
        ))}
        {servers?.map(({ name, state }) => (
          <li key={name}>
            <span dir="auto">MCP: {name}</span>
            <McpState state={state} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Layers({ layers }: Pick<Status, "layers">) {
  const t = texts.value;
  return (
    <section class="card">
      <h2>{t.service.layers}</h2>
      <ul class="states">
        {(Object.entries(layers) as [Layer, "on" | "off"][]).map(([name, state]) => (
          <li key={name}>
            <span>{t.layers[name]}</span>
            <span class={`badge state-${state}`}>{t.service[state]}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Models({ status: { models, unfit_models, search_level } }: { status: Status }) {
  const t = texts.value.service;
  const unfit = new Set(unfit_models.map(({ purpose }) => purpose));
  return (
    <section class="card">
      <h2>{t.models}</h2>
      <ul class="states models">
        {Object.entries(models).map(([use, name]) => (
          <li key={use}>
            <span>{t.uses[use] ?? use}</span>
            <code dir="auto">{name ?? "–"}</code>
          </li>
        ))}
        {search_level !== null && (
          <li>
            <span>{t.searchLevel}</span>
            <code>{search_level}</code>
          </li>
        )}
      </ul>
      {unfit.has("summary") && <p class="note warning">{t.unfitSummary}</p>}
      {unfit.has("memory") && <p class="note warning">{t.unfitMemory}</p>}
      <ModelTest />
    </section>
  );
}

function Export() {
  const t = texts.value;
  const owner = userId.value ?? "";
  const { run, note } = useAction();
  return (
    <section class="card">
      <h2>{t.service.export}</h2>
      <p class="quiet small">{t.service.exportExplain}</p>
      <div class="actions start">
        <Button onClick={() => run(() => saveExport(owner))}>{t.service.exportGo(owner)}</Button>
      </div>
      {note}
    </section>
  );
}

export function ServiceView() {
  const t = texts.value.service;
  const loaded = useLoaded(readStatus, []);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && loaded.reload(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="page-view" tabIndex={0} role="region" aria-label={t.title}>
      <div class="page-inner">
        <h1>{t.title}</h1>
        <LoadState of={loaded}>
          {(status) => (
            <>
              <div class="state-grid">
                <Dependencies status={status} />
                <Layers layers={status.layers} />
                <Models status={status} />
              </div>
              <section class="card">
                <h2>{t.latency}</h2>
                <Latency turns={status.turns} />
              </section>
              <section class="card">
                <h2>{t.queue}</h2>
                <Queue jobs={status.jobs} onRetried={loaded.reload} />
              </section>
              <Limits round={status} />
            </>
          )}
        </LoadState>
        <Spending />
        <SettingsList />
        <Export />
      </div>
    </div>
  );
}
