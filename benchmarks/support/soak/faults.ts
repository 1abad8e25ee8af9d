import { setTimeout as sleep } from "node:timers/promises";
import { FAULTS, WAYS, type Fault } from "../../../test/hard/faults/fault-matrix.ts";
import { SOAK_DEPENDENCIES, type SoakStage } from "./stage.ts";

/** A fault begins so many milliseconds into each minute, and a fault of a dependency lasts so long. */
const BEGINS_MS = 15_000;
const LASTS_MS = 12_000;
/** Until circuits are closed again, what was refused has been sent once more, and connections are back. */
const RECOVERY_MS = 15_000;
const MINUTE_MS = 60_000;

/** When a fault could be felt, by `performance.now()`. */
export interface FaultWindow {
  name: string;
  from: number;
  until: number;
}

interface SoakFault {
  name: string;
  /** Resolves when it is over. */
  play(): Promise<void>;
  /** The second process lives on undisturbed from the half on, so that an age of it can be looked at. */
  onlyEarly?: boolean;
}

function dependencyFaults({ proxies }: SoakStage): SoakFault[][] {
  const kinds = FAULTS.filter((fault): fault is Exclude<Fault, "down at start"> => fault !== "down at start");
  return kinds.map((fault, turn) =>
    SOAK_DEPENDENCIES.map((dependency, place) => {
      const ways = Object.entries(WAYS[fault]);
      const [way = "", bring] = ways[(turn + place) % ways.length] ?? [];
      return {
        name: [dependency, fault, way].filter((part) => part !== "").join(", "),
        async play() {
          await bring?.(proxies[dependency], dependency);
          await sleep(LASTS_MS);
          await proxies[dependency].restore();
        },
      };
    }),
  );
}

/** Every fault once, those of processes between those of dependencies. */
function allFaults(stage: SoakStage): SoakFault[] {
  const { processes } = stage;
  const ofProcesses: SoakFault[] = [
    { name: "first process, kill -9", play: () => processes.restart(0, "SIGKILL") },
    { name: "second process, kill -9", play: () => processes.restart(1, "SIGKILL"), onlyEarly: true },
    { name: "second process, SIGTERM", play: () => processes.restart(1, "SIGTERM"), onlyEarly: true },
    { name: "first process, SIGTERM", play: () => processes.restart(0, "SIGTERM") },
    { name: "first process, frozen", play: () => processes.freeze(0) },
    { name: "first process, kill -9", play: () => processes.restart(0, "SIGKILL") },
  ];
  return dependencyFaults(stage).flatMap((faults, turn) => [...ofProcesses.slice(turn, turn + 1), ...faults]);
}

/** Brings about one fault a minute, in turn, for so many minutes. Resolves with when each could be felt. */
export async function playFaults(
  stage: SoakStage,
  minutes: number,
  began: number,
  onFault: (name: string, minute: number) => void,
): Promise<FaultWindow[]> {
  const faults = allFaults(stage);
  const windows: FaultWindow[] = [];
  let next = 0;
  for (let minute = 0; minute < minutes; minute++) {
    await sleep(Math.max(0, began + minute * MINUTE_MS + BEGINS_MS - performance.now()));
    const isLate = minute >= minutes / 2;
    while (isLate && faults[next % faults.length]?.onlyEarly) next++;
    const fault = faults[next++ % faults.length] as SoakFault;
    const from = performance.now();
    onFault(fault.name, minute);
    await fault.play();
    windows.push({ name: fault.name, from, until: performance.now() + RECOVERY_MS });
  }
  return windows;
}
