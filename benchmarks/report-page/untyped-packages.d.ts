declare module "d3-flame-graph" {
  export interface FlameNode {
    name: string;
    value: number;
    package: string;
    children: FlameNode[];
  }

  interface Placed {
    data: FlameNode;
    highlight?: boolean;
  }

  /** Chained as d3's are; a call with a selection draws. */
  export interface FlameGraph {
    (selection: unknown): void;
    width(pixels: number): FlameGraph;
    cellHeight(pixels: number): FlameGraph;
    minFrameSize(pixels: number): FlameGraph;
    inverted(isRootOnTop: boolean): FlameGraph;
    transitionDuration(milliseconds: number): FlameGraph;
    title(text: string): FlameGraph;
    tooltip(shown: boolean): FlameGraph;
    label(of: (node: Placed) => string): FlameGraph;
    setColorMapper(of: (node: Placed, original: string) => string): FlameGraph;
    setDetailsHandler(tell: (node: Placed | null) => void): FlameGraph;
    onClick(told: (node: Placed) => void): FlameGraph;
    search(text: string): void;
    clear(): void;
    resetZoom(): void;
  }

  export default function flamegraph(): FlameGraph;
}

declare module "d3-selection" {
  export function select(element: Element): { datum(data: unknown): { call(draw: (selection: unknown) => void): void } };
}
