import { enableCompileCache } from "node:module";

// Before anything else is loaded: the compile cache saves a third of the start (1,200 modules).
enableCompileCache();
const { runService } = await import("./start/run-service.ts");
await runService();
