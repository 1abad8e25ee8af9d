/** What a run keeps of its request, in its turn. */
export interface AskedOfRun {
  assistant_id?: string;
  metadata?: Record<string, unknown>;
  multitask_strategy?: string;
}

/** Empty of a turn that another API began. */
export const askedOfRun = ({ asked }: { asked?: Record<string, unknown> | null | undefined }): AskedOfRun => asked?.["langgraph"] ?? {};
