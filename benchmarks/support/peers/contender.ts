import type { StreamTimes } from "../read-stream.ts";

export interface Thread {
  userId: string;
  sessionId: string;
}

export interface ListedMessage {
  role: string;
  content: string;
}

export interface PeerContender {
  name: string;
  isOurs: boolean;
  turn: (thread: Thread, message: string) => Promise<StreamTimes>;
  /** Waits while the conversation answers, where `turn` is refused. Missing where nothing is refused. */
  turnInLine?: (thread: Thread, message: string) => Promise<StreamTimes>;
  /** CPU of its process in milliseconds so far. */
  cpuMs: () => number;
  storesCpuMs: () => number;
  close(): Promise<void>;
  memory?: PeerMemory;
}

export interface PeerMemory {
  /** Waits until the work that a turn leaves for later is done. */
  settle(thread: Thread): Promise<void>;
  messages(thread: Thread): Promise<ListedMessage[]>;
}
