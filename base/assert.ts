/** Thrown when this program contradicts itself. Code that catches it must end the process. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
}

/**
 * Throws unless `condition` holds, in production too. Each assertion makes one claim, stated
 * positively.
 */
export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new BrokenInvariant(claim)
}

/** Proves at compile time that every case of a union was handled. */
export function assertNever(value: never): never {
  throw new BrokenInvariant(`unhandled case ${JSON.stringify(value)}`)
}

/** Returns the value, which must be present. */
export function present<T>(value: T | null | undefined, claim: string): T {
  if (value === null || value === undefined) throw new BrokenInvariant(claim)
  return value
}
