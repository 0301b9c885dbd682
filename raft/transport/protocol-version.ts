import type { Hello } from './frame-codec.ts'

/**
 * Versions of `proto/` that this program supports. Both sides of a stream use the newest common
 * version: the caller sends its oldest and newest one, and the response contains the chosen one.
 */
export const protocolOldest = 2
export const protocolNewest = 3

/** Returns the newest version that the caller and this program support; null: none. */
export function commonProtocol({
  protocol,
  protocolMax,
}: Pick<Hello, 'protocol' | 'protocolMax'>): number | null {
  const common = Math.min(Math.max(protocol, protocolMax), protocolNewest)
  return common >= Math.max(protocol, protocolOldest) ? common : null
}
