import type { Command } from '../command.ts'
import type { World } from '../world.ts'
import { compact, crash, fastDisk, slowDisk, write } from './disk.ts'
import { change, propose, read, resign, transfer } from './lead.ts'
import { clock, lease, wantLease } from './lease.ts'
import { log, status } from './look.ts'
import {
  connected,
  copy,
  cut,
  deliver,
  drop,
  ended,
  heal,
  hold,
  isolate,
  release,
  settle,
  stabilize,
  unreachable,
} from './network.ts'
import { member, nodes } from './setup.ts'
import { campaign, lead, tick } from './time.ts'
import { plan } from './plan.ts'

export type Verb = (world: World, command: Command) => void

/** All commands of transcripts. */
export const verbs: ReadonlyMap<string, Verb> = new Map(
  Object.entries({
    nodes,
    member,
    tick,
    campaign,
    lead,
    propose,
    read,
    transfer,
    resign,
    change,
    plan,
    'want-lease': wantLease,
    clock,
    lease,
    stabilize,
    settle,
    deliver,
    drop,
    hold,
    release,
    copy,
    isolate,
    cut,
    heal,
    unreachable,
    ended,
    connected,
    'slow-disk': slowDisk,
    'fast-disk': fastDisk,
    write,
    crash,
    compact,
    status,
    log,
  }),
)
