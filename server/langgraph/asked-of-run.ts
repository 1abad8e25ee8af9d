/** The parts of a run's request that its turn keeps. */
export interface AskedOfRun {
  assistant_id?: string;
  metadata?: Record<string, unknown>;
  multitask_strategy?: string;
}

/** Empty for a turn that another API began. */
export const askedOfRun = ({ asked }: { asked?: Record<string, unknown> | null | undefined }): AskedOfRun => asked?.["langgraph"] ?? {};
