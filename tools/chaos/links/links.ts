import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { SeededRandom } from '../../../base/random.ts'
import { ChaosFailure } from '../errors.ts'
import { chaosLimits } from '../limits.ts'
import { callerOf } from './caller.ts'
import { ControlServer } from './control.ts'
import { MemberProxy } from './member-proxy.ts'
import type { ProxiedMember } from './member-proxy.ts'
import type { LinkRule } from './rules.ts'

/** In the directory of a cluster: who stands where, and where the proxies are told what to do. */
export const linksFile = 'links.json'
export const controlFile = 'links.sock'

const retryMs = 20

/**
 * The proxies of a whole cluster, one for each member. The directory holds `links.json`, a list of seats, and for each member
 * `NAME/pid`.
 *
 * @throws ChaosFailure `links` when the file is no good; the system's error when a port is taken
 */
export async function serveLinks(
  directory: string,
  host: { readonly clock: Clock; readonly random: Random },
): Promise<{ readonly close: () => Promise<void> }> {
  const { clock } = host
  const members = readMembers(join(directory, linksFile))
  let rules: readonly LinkRule[] = []
  const findCaller = async (port: number): Promise<string | null> => {
    const endMs = clock.monotonicMs() + chaosLimits.callerMsMax
    for (;;) {
      const caller = await callerOf(port, pidsOf(directory))
      // One that was just started may not be written down yet.
      if (caller !== null || clock.monotonicMs() > endMs) return caller
      await new Promise<void>((resolve) => {
        clock.after(retryMs, resolve)
      })
    }
  }
  const random = new SeededRandom(host.random.below(2 ** 32))
  const proxies = await Promise.all(
    members.map((proxied) =>
      MemberProxy.open({ proxied, clock, random: random.fork(), rules: () => rules, findCaller }),
    ),
  )
  const control = await ControlServer.open(join(directory, controlFile), (next) => {
    rules = next
    for (const proxy of proxies) proxy.refresh()
  })
  return {
    close: async () => {
      await control.close()
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}

function readMembers(path: string): readonly ProxiedMember[] {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new ChaosFailure('links', `cannot read ${path}: make the cluster by orchctl cluster up --chaos`, {
      cause,
    })
  }
  const members = Array.isArray(value) ? (value as readonly unknown[]).map(memberOf) : []
  const good = members.filter((proxied) => proxied !== null)
  if (good.length > 0 && good.length === members.length) return good
  throw new ChaosFailure('links', `${path} is not a list of {name, dialed, listens}`)
}

function memberOf(value: unknown): ProxiedMember | null {
  if (typeof value !== 'object' || value === null) return null
  const { name, dialed, listens } = value as Readonly<Record<string, unknown>>
  const good = typeof name === 'string' && typeof dialed === 'number' && typeof listens === 'number'
  return good ? { name, dialed, listens } : null
}

/** Of all members in the directory, also of those that came later and have no seat. */
function pidsOf(directory: string): ReadonlyMap<string, number> {
  const pids = new Map<string, number>()
  for (const name of readdirSync(directory)) {
    try {
      pids.set(name, Number(readFileSync(join(directory, name, 'pid'), 'utf8')))
    } catch {
      // No member, or it does not run.
    }
  }
  return pids
}
