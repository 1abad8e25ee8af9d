import type { enViews } from "./en-views.ts";
import { zhAgents } from "./zh-agents.ts";
import { zhDocuments } from "./zh-documents.ts";
import { zhService } from "./zh-service.ts";

export const zhViews: typeof enViews = { agents: zhAgents, documents: zhDocuments, service: zhService };
