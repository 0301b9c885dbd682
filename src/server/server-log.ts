/** What this room tells the operator. A `pino` logger is one. */
export type ServerLog = {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}
