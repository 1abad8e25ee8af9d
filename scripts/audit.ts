import { AppError } from "../errors/app-error.ts";
import { type Audit, auditUser } from "../server/api/memory/audit-user.ts";
import { parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import type { Owner } from "../turn/owner.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { callService, serviceBehind, userAddress } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run audit -- --user ID [--tenant TENANT]    shows what every store holds of a user: nothing after an erase
Exit status: 0 nothing was found, 2 something was found, 1 a store could not be searched`;

const options = { user: { type: "string" }, tenant: { type: "string", default: "default" } } as const;

/** Asks the database, or the service that holds it. */
async function audit(owner: Owner): Promise<Audit> {
  const config = parseConfig(readEnvironment());
  const opened = await openDatabase(config).catch((error: unknown) => serviceBehind(error, config, owner.tenantId));
  if (!("query" in opened)) {
    const answer = await callService(opened, userAddress(owner.userId, "audit"));
    const { places, not_searched: notSearched } = (await answer.json()) as { places: Audit["places"]; not_searched: string[] };
    return { places, notSearched };
  }
  try {
    await migrate(opened);
    return await auditUser(config, opened, owner);
  } finally {
    await opened.close();
  }
}

await runCommand({ usage: USAGE, options }, async ({ values: { user: userId, tenant: tenantId } }, refuse) => {
  const owner = { tenantId, userId: userId ?? refuse() };
  const { places, notSearched } = await audit(owner);
  for (const { place, count } of places) console.log(`${place}: ${count}`);
  if (notSearched.length > 0) {
    throw new AppError("invalid_configuration", `Not searched: ${notSearched.join(", ")} in Milvus. Set MILVUS_ADDRESS and run it again.`);
  }
  console.log(
    places.length === 0 ? `nothing of user "${owner.userId}"` : `${places.length} places hold something of user "${owner.userId}"`,
  );
  if (places.length > 0) process.exitCode = 2;
});
