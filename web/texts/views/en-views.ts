import { enAgents } from "./en-agents.ts";
import { enDocuments } from "./en-documents.ts";
import { enService } from "./en-service.ts";

/** Texts that are loaded with the views that need them, in English. */
export const enViews = { agents: enAgents, documents: enDocuments, service: enService };
