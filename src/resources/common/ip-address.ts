import { isIP } from 'node:net'

/** Checks that a text is an IPv4 or IPv6 address without a zone. */
export function checkIpAddress(text: string): readonly string[] {
  const isAddress = isIP(text) !== 0 && !text.includes('%')
  return isAddress ? [] : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']
}
