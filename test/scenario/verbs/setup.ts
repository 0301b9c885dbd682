import type { CoreConfig } from '../../../raft/core/config.ts'
import { logIndex, nodeId, noTerm, term } from '../../../raft/core/types.ts'
import type { Entry, Term } from '../../../raft/core/types.ts'
import { newDisk } from '../member.ts'
import type { Member } from '../member.ts'
import { cluster } from '../member-infos.ts'
import type { Command } from '../command.ts'
import { scenarioConfig } from '../world.ts'
import type { World } from '../world.ts'

/**
 * `nodes voters=1,2,3 [learners=4] [outsiders=5] [index=10] [term=1] [limit=…]`: members that agree
 * on their configuration and on everything up to `index`. Outsiders know nothing yet. Limits:
 * append-bytes, inflight-messages, inflight-bytes, uncommitted-bytes, cache-bytes, read-rounds,
 * lease-promise (ms), quiet-heartbeat (ticks).
 */
export function nodes(world: World, { options }: Command): void {
  const configuration = cluster(numbers(options.get('voters')), numbers(options.get('learners')))
  const index = logIndex(Number(options.get('index') ?? 0))
  const at = index === 0 ? noTerm : term(Number(options.get('term') ?? 1))
  for (const { id } of configuration.members) {
    world.add(scenarioConfig(id, limits(options)), newDisk(configuration, index, at))
  }
  for (const id of numbers(options.get('outsiders'))) {
    world.add(scenarioConfig(nodeId(id), limits(options)), newDisk(cluster([]), logIndex(0), noTerm))
  }
}

/**
 * `member 2 log=1,1,2 [term=2] [vote=1] [commit=1] [limit=…]`: the state on its disk in addition to
 * what all members agree on. Several members may be named; limits as those of `nodes`.
 */
export function member(world: World, { words, options }: Command): void {
  for (const word of words) {
    const { disk, id } = world.member(word)
    const terms = numbers(options.get('log')).map((value) => term(value))
    const entries = terms.map((at, place) => entryOf(disk, at, place))
    const vote = options.get('vote')
    const last = terms.at(-1) ?? disk.base.term
    disk.hardState = {
      term: term(Number(options.get('term') ?? last)),
      vote: vote === undefined ? null : nodeId(Number(vote)),
      commit: logIndex(Number(options.get('commit') ?? disk.base.index)),
    }
    world.add(scenarioConfig(id, limits(options)), { ...disk, entries })
  }
}

export function numbers(list: string | undefined): readonly number[] {
  return list === undefined || list === '' ? [] : list.split(',').map(Number)
}

function entryOf(disk: Member['disk'], at: Term, place: number): Entry {
  const index = logIndex(disk.base.index + 1 + place)
  const data = Uint8Array.from(`${at}.${index}`, (letter) => letter.charCodeAt(0))
  return { index, term: at, kind: 'command', data }
}

function limits(options: ReadonlyMap<string, string>): Partial<CoreConfig> {
  const names = [
    ['append-bytes', 'appendBytesMax'],
    ['inflight-messages', 'inflightMessagesMax'],
    ['inflight-bytes', 'inflightBytesMax'],
    ['uncommitted-bytes', 'uncommittedBytesMax'],
    ['cache-bytes', 'logCacheBytesMax'],
    ['read-rounds', 'readRoundsMax'],
    ['lease-promise', 'leasePromiseMs'],
    ['quiet-heartbeat', 'quietHeartbeatTicks'],
  ] as const
  const chosen = names.flatMap(([option, limit]) => {
    const value = options.get(option)
    return value === undefined ? [] : [[limit, Number(value)] as const]
  })
  return Object.fromEntries(chosen)
}
