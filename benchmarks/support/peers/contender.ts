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
  /** Waits where `turn` is refused in a busy conversation. Missing where nothing is refused. */
  turnInLine?: (thread: Thread, message: string) => Promise<StreamTimes>;
  cpuMs: () => number;
  storesCpuMs: () => number;
  close(): Promise<void>;
  memory?: PeerMemory;
}

export interface PeerMemory {
  /** Waits until the turn's later work is done. */
  settle(thread: Thread): Promise<void>;
  messages(thread: Thread): Promise<ListedMessage[]>;
}
