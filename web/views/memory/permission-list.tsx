import { useState } from "preact/hooks";
import { listPermissions, revokePermission } from "../../api/view-endpoints.ts";
import type { Permission } from "../../api/types.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";

export function PermissionList({ owner }: { owner: string }) {
  const t = texts.value.memory.permissions;
  const loaded = useLoaded(() => listPermissions(owner, null), [owner]);
  const [older, setOlder] = useState<{ permissions: Permission[]; next: string | null } | null>(null);
  const { run, note } = useAction();
  const next = older ? older.next : (loaded.value?.next ?? null);

  async function revoke(id: string): Promise<void> {
    await revokePermission(owner, id);
    setOlder(null);
    loaded.reload();
  }
  async function more(): Promise<void> {
    const page = await listPermissions(owner, next);
    setOlder({ permissions: [...(older?.permissions ?? []), ...page.permissions], next: page.next });
  }

  return (
    <>
      {note}
      <LoadState of={loaded}>
        {({ permissions }) => (
          <>
            {permissions.length === 0 && <p class="quiet">{t.none}</p>}
            <ul class="cards">
              {[...permissions, ...(older?.permissions ?? [])].map(({ id, agent, tool, created_at }) => (
                <li key={id} class="card card-foot" data-tool={tool}>
                  <span dir="auto">
                    <code>{tool}</code> <span class="quiet small">{`${t.of(agent)} · ${showTime(created_at)}`}</span>
                  </span>
                  <Button onClick={() => run(() => revoke(id))}>{t.revoke}</Button>
                </li>
              ))}
            </ul>
          </>
        )}
      </LoadState>
      {next !== null && <Button onClick={() => run(more)}>{texts.value.more}</Button>}
    </>
  );
}
