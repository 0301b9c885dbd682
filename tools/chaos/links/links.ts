import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { SeededRandom } from '../../../base/random.ts'
import { ChaosError } from '../errors.ts'
import { chaosLimits } from '../limits.ts'
import { callerOf } from './caller.ts'
import { ControlServer } from './control.ts'
import { MemberProxy } from './member-proxy.ts'
import type { ProxiedMember } from './member-proxy.ts'
import type { LinkRule } from './rules.ts'

/** Files in the directory of a cluster: the list of proxied members, and the control socket. */
export const linksFile = 'links.json'
export const controlFile = 'links.sock'

const retryMs = 20

/**
 * Runs the proxies of a cluster, one per member. The directory contains `links.json`, a list of
 * members and ports, and `NAME/pid` for each member.
 *
 * @throws ChaosError `links` when the file is malformed; the error of the system when a port is
 * in use
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
      // The pid file of a member that has just started may not exist yet.
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
    throw new ChaosError('links', `cannot read ${path}: create the cluster with orchctl cluster up --chaos`, {
      cause,
    })
  }
  const members = Array.isArray(value) ? (value as readonly unknown[]).map(memberOf) : []
  const good = members.filter((proxied) => proxied !== null)
  if (good.length > 0 && good.length === members.length) return good
  throw new ChaosError('links', `${path} is not a list of {name, dialed, listens}`)
}

function memberOf(value: unknown): ProxiedMember | null {
  if (typeof value !== 'object' || value === null) return null
  const { name, dialed, listens } = value as Readonly<Record<string, unknown>>
  const good = typeof name === 'string' && typeof dialed === 'number' && typeof listens === 'number'
  return good ? { name, dialed, listens } : null
}

/**
 * Returns the pids of all members in the directory, including those added later, which have no
 * proxy.
 */
function pidsOf(directory: string): ReadonlyMap<string, number> {
  const pids = new Map<string, number>()
  for (const name of readdirSync(directory)) {
    try {
      pids.set(name, Number(readFileSync(join(directory, name, 'pid'), 'utf8')))
    } catch {
      // Not a member, or not running.
    }
  }
  return pids
}
