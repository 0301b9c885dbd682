import { lookup as systemLookup } from 'node:dns'
import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'

/**
 * Lookups of the system run on the threads that also write files, and each may take many seconds.
 * No more than this many run at a time, so that a slow DNS server does not block writes to the
 * database and the audit log.
 */
const LOOKUPS_MAX = 2
/** Host names that wait. More: the lookup fails with `EAI_AGAIN`. */
const WAITING_MAX = 256

type Done = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void

/** By host and family, the callers that wait for its addresses. */
const callers = new Map<string, Done[]>()
const waiting: (() => void)[] = []
let running = 0

/** Resolves host names as the system does; all callers share the bounded number of lookups. */
export const hostLookup: LookupFunction = (host, options, done) => {
  const family = options.family === 6 || options.family === 'IPv6' ? 6 : options.family ? 4 : 0
  addressesOf(host, family, (error, addresses) => {
    const [first] = addresses
    if (error !== null) done(error, '')
    else if (options.all === true) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  })
}

function addressesOf(host: string, family: 0 | 4 | 6, done: Done): void {
  const key = `${family} ${host}`
  const known = callers.get(key)
  if (known !== undefined) {
    known.push(done)
    return
  }
  if (waiting.length >= WAITING_MAX) {
    const busy = new Error(`too many host names wait to be looked up: ${host} was not looked up, try again`)
    done(Object.assign(busy, { code: 'EAI_AGAIN' }), [])
    return
  }
  callers.set(key, [done])
  const start = (): void => {
    running++
    systemLookup(host, { all: true, family }, (error, addresses) => {
      running--
      const all = callers.get(key) ?? []
      callers.delete(key)
      waiting.shift()?.()
      for (const one of all) one(error, error === null ? addresses : [])
    })
  }
  if (running < LOOKUPS_MAX) start()
  else waiting.push(start)
}
