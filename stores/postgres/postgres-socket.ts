import { Socket } from "node:net";

/**
 * A socket for the driver, which reads what comes in without a guard: bytes that are no Postgres protocol, from a proxy or from another
 * server on the port, would throw out of the event loop and end the process. Here they end the connection, as a reset does.
 */
export class PostgresSocket extends Socket {
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== "data") return super.emit(event, ...values);
    try {
      return super.emit(event, ...values);
    } catch (cause) {
      this.destroy(new Error("what came was no Postgres protocol", { cause }));
      return true;
    }
  }
}
