import { listLimits } from "../../api/view-endpoints.ts";
import type { Limit } from "../../api/types.ts";
import { userId } from "../../state/page/settings.ts";
import { showNumber, texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";

const show = ({ setting }: Limit, value: number | null): string =>
  value === null ? "–" : setting === "COST_PER_DAY" ? `$${showNumber(value, 4)}` : showNumber(value);

/** `round` reloads it. */
export function Limits({ round }: { round: unknown }) {
  const t = texts.value.service;
  const owner = userId.value ?? "";
  const loaded = useLoaded(() => listLimits(owner), [owner, round]);
  return (
    <section class="card">
      <h2>{t.limits}</h2>
      <LoadState of={loaded}>
        {({ limits }) => (
          <div class="scrolls" role="region" aria-label={t.limits} tabIndex={0}>
            <table class="data">
              <thead>
                <tr>
                  <th scope="col">{t.limit}</th>
                  <th scope="col">{t.used}</th>
                  <th scope="col">{t.most}</th>
                </tr>
              </thead>
              <tbody>
                {limits.map((limit) => (
                  <tr key={limit.setting} data-limit={limit.setting}>
                    <th scope="row">
                      {t.limitNames[limit.setting] ?? limit.setting} <span class="badge">{t.limitOf[limit.of]}</span>
                    </th>
                    <td>{show(limit, limit.used)}</td>
                    <td>{limit.limit === null ? t.unlimited : show(limit, limit.limit)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </LoadState>
    </section>
  );
}
