import { cpSync } from "node:fs";

// tsc leaves .sql files behind; the built migrate reads them from beside itself.
cpSync("stores/postgres/migrations", "dist/stores/postgres/migrations", { recursive: true });
