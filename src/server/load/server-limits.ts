/**
 * Limits that an operator may set; the others are constants. Behavior when full:
 * `src/config/limits.ts`.
 */
export type ServerLimits = {
  readonly requestsReadingMax: number
  readonly requestsWritingMax: number
  readonly watchesMax: number
  readonly backendStreamsMax: number
  readonly requestMsMax: number
  readonly requestBytesMax: number
  readonly uploadsMax: number
  readonly uploadGraceMs: number
  readonly bodyMemoryBytesMax: number
  readonly outgoingBytesMax: number
}
