import { copyFileSync, cpSync, mkdirSync } from "node:fs";
import { DOCS_FILES } from "../server/http/openapi/openapi-routes.ts";

// tsc leaves behind what is no TypeScript; the built service reads it from beside itself.
cpSync("stores/postgres/migrations", "dist/stores/postgres/migrations", { recursive: true });

const docs = "dist/server/http/openapi/swagger-ui";
mkdirSync(docs, { recursive: true });
for (const name of [...DOCS_FILES, "LICENSE", "NOTICE"]) copyFileSync(`node_modules/swagger-ui-dist/${name}`, `${docs}/${name}`);
