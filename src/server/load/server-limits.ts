/**
 * The limits that the server is built with. Flags set those of requests in progress and the time of
 * a request, and those of memory depend on the heap. `src/config/limits.ts` has all defaults, and
 * what happens when a limit is reached.
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
