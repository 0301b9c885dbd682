/** The log of this module. A `pino` logger is one. */
export type ServerLog = {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}
