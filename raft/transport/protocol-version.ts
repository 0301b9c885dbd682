import type { Hello } from './frame-codec.ts'

/**
 * Versions of `proto/` that this program speaks. Both sides of a stream speak the newest that both
 * know: the caller says from which on to which it can, the answer says which it is.
 */
export const protocolOldest = 2
export const protocolNewest = 3

/** The newest version that the caller and this program speak; null: there is none. */
export function commonProtocol({
  protocol,
  protocolMax,
}: Pick<Hello, 'protocol' | 'protocolMax'>): number | null {
  const common = Math.min(Math.max(protocol, protocolMax), protocolNewest)
  return common >= Math.max(protocol, protocolOldest) ? common : null
}
