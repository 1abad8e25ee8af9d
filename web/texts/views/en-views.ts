import { enAgents } from "./en-agents.ts";
import { enDocuments } from "./en-documents.ts";
import { enService } from "./en-service.ts";

/** Loaded with the views that need them. */
export const enViews = { agents: enAgents, documents: enDocuments, service: enService };
