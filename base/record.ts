/**
 * Returns whether a value from JSON, YAML or another thread is an object, and not a list.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
