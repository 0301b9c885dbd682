import { statSync } from 'node:fs'
import { chooseCandidate } from '../backup/choose-candidate.ts'
import type { RecoveryChoice } from '../backup/choose-candidate.ts'
import { newIncarnation } from '../backup/incarnation.ts'
import type { ClusterIncarnation } from '../backup/incarnation.ts'
import { recoverInto, undoRecovery, reachableMembers } from '../backup/recover.ts'
import { inspectDataDir } from '../backup/recovery-candidate.ts'
import type { RecoveryCandidate } from '../backup/recovery-candidate.ts'
import { CliError } from './errors.ts'
import { namesInOrder } from './name-order.ts'
import { lockedFor } from './snapshot-restore.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

export type RecoverFlags = {
  readonly dataDir: readonly string[]
  /** Members that count as dead even if something responds at their addresses. */
  readonly dead: readonly string[]
  readonly yes: boolean
  readonly output: Format
}

/**
 * For a cluster that has permanently lost its majority: reports what the surviving directories
 * contain and what may be lost, and with `yes` continues the cluster from the best one.
 */
export async function recover(terminal: Terminal, flags: RecoverFlags): Promise<void> {
  const locks: { readonly release: () => void }[] = []
  try {
    const candidates: RecoveryCandidate[] = []
    checkDirectories(flags.dataDir)
    for (const directory of flags.dataDir) {
      locks.push(await lockedFor(terminal, directory))
      candidates.push((await inspectDataDir(directory, terminal.random)).candidate)
    }
    if (flags.output === 'table') for (const line of formatTable(rowsOf(candidates))) terminal.print(line)
    for (const { identity, damage, suspect } of candidates) {
      if (damage !== null) terminal.note(`${identity.member} is damaged: ${damage}`)
      else if (suspect !== null) terminal.note(`the state of ${identity.member} is suspect: ${suspect}`)
    }
    const choice = chooseCandidate(candidates)
    warnOfSuspect(terminal, choice)
    await refuseWhileAlive(terminal, choice, candidates, flags.dead)
    if (flags.output === 'table') for (const line of lossOf(choice)) terminal.print(line)
    if (flags.output === 'json') terminal.print(JSON.stringify(recoveryReport(candidates, choice), null, 2))
    if (!flags.yes) {
      const { member } = choice.best.identity
      throw new CliError('failed', `nothing was changed: use --yes to continue from ${member} alone`)
    }
    for (const directory of flags.dataDir) undoRecovery(directory)
    await perform(terminal, choice)
  } finally {
    for (const lock of locks) lock.release()
  }
}

/**
 * Warns that the best candidate is suspect. It is used nevertheless, because continuing from
 * another log may lose writes.
 */
function warnOfSuspect(terminal: Terminal, { best }: RecoveryChoice): void {
  if (best.suspect === null) return
  const { member } = best.identity
  terminal.note(
    `${member} has the best log, but other members had another state: after the recovery compare its ` +
      'objects with your manifests, or restore a snapshot that was saved before',
  )
}

/**
 * Rejects a path that is not a directory, and a directory that is given twice: its second lock
 * would fail as if another process held the first one.
 *
 * @throws CliError `failed`
 */
function checkDirectories(paths: readonly string[]): void {
  const known = new Map<string, string>()
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined)
      throw new CliError('failed', `${path} does not exist: give the directories that survived`)
    if (!found.isDirectory())
      throw new CliError('failed', `${path} is not a directory: give the data directories that survived`)
    const place = `${found.dev} ${found.ino}`
    const before = known.get(place)
    if (before !== undefined) {
      const both = before === path ? path : `${before} and ${path} are one directory, which`
      throw new CliError('failed', `${both} is given twice: give each directory once`)
    }
    known.set(place, path)
  }
}

async function perform(terminal: Terminal, { best }: RecoveryChoice): Promise<void> {
  const { state } = await inspectDataDir(best.directory, terminal.random)
  if (state === null)
    throw new CliError('failed', `${best.directory} changed during the inspection: try again`)
  const { clock, random } = terminal
  const incarnationOf = (fingerprint: string): ClusterIncarnation =>
    newIncarnation(clock.wallMs(), random, fingerprint)
  const { made, incarnation, aside } = await recoverInto(best, state, { incarnationOf, random })
  const name = best.identity.member
  terminal.note(
    `${name} is the only voter now, at revision ${made.head.revision}, in incarnation ${incarnation.id}`,
  )
  terminal.note(`the original files are in ${aside}; remove them once the cluster works`)
  // Learners have directories of the old incarnation, too.
  const others = best.log.configuration.members.filter(({ id }) => id !== best.identity.id)
  terminal.note(
    `start ${name} with the flags it had. ${namesInOrder(others)} will be refused: remove their data directories,`,
  )
  terminal.note('and never start a majority of the old members together: they would be the old cluster again')
}

/** @throws CliError when a member that was not given still responds */
async function refuseWhileAlive(
  terminal: Terminal,
  { best }: RecoveryChoice,
  candidates: readonly RecoveryCandidate[],
  dead: readonly string[],
): Promise<void> {
  const given = candidates.map(({ identity }) => identity.id)
  const { members } = best.log.configuration
  const others = members.filter(({ id, name }) => !given.includes(id) && !dead.includes(name))
  const [alive] = await reachableMembers(others, terminal.clock)
  if (alive === undefined) return
  throw new CliError(
    'failed',
    `member ${alive.member} answers at ${alive.address}: stop it and give its directory too, ` +
      `or use --dead ${alive.member} if that is another process`,
  )
}

function rowsOf(candidates: readonly RecoveryCandidate[]): readonly (readonly string[])[] {
  const heading = [
    'MEMBER',
    'LAST TERM',
    'LAST INDEX',
    'COMMITTED',
    'APPLIED',
    'REVISION',
    'STATE',
    'CLUSTER ID',
    'DIRECTORY',
  ]
  return [
    heading,
    ...candidates.map(({ directory, identity, clusterId, damage, suspect, log }) => [
      identity.member,
      ...[log?.lastTerm, log?.lastIndex, log?.committed, log?.applied, log?.revision].map((value) =>
        String(value ?? '?'),
      ),
      wordOf(damage, suspect),
      clusterId ?? '?',
      directory,
    ]),
  ]
}

function wordOf(damage: string | null, suspect: string | null): string {
  if (damage !== null) return 'damaged'
  return suspect === null ? 'whole' : 'suspect'
}

function lossOf({
  best,
  lost,
  lostDecide,
  committed,
  unproven,
  dropped,
  missed,
}: RecoveryChoice): readonly string[] {
  const others = lost.join(', ')
  const certain = missed === null ? committed : missed.from - 1
  const lines = [
    '',
    `best: ${best.identity.member}`,
    lostDecide
      ? `missing: ${others}: enough to have acknowledged writes without the members given here`
      : `missing: ${others}: not enough to have acknowledged writes, unless the members were changed since`,
    `certain: everything up to entry ${certain}`,
  ]
  const list = (writes: RecoveryChoice['unproven']): void => {
    for (const { index, keys } of writes) for (const key of keys) lines.push(`  entry ${index}: ${key}`)
  }
  if (unproven.length > 0) {
    const range = `entries ${committed + 1} to ${best.log.lastIndex}`
    lines.push(`kept: ${range}, with ${unproven.length} writes that may or may not have been acknowledged`)
    list(unproven)
  }
  for (const { member, from, to, writes } of dropped) {
    const range = `entries ${from} to ${to} of ${member}`
    lines.push(`dropped: ${range}, with ${writes.length} writes, acknowledged only if ${others} had them`)
    list(writes)
  }
  if (missed !== null) {
    const range = `entries ${missed.from} to ${missed.to}`
    lines.push(`lost: ${range}, which were acknowledged: only ${missed.member} has them, and it is damaged`)
  }
  // Without a majority among the lost voters, such writes exist only if the members were changed
  // since.
  const after = lostDecide ? '' : ', after a change of members unknown here'
  lines.push(`lost, if there were any: writes after entry ${certain} that only ${others} had${after}`)
  return lines
}

function recoveryReport(candidates: readonly RecoveryCandidate[], choice: RecoveryChoice): object {
  const { best, lost, committed, unproven, dropped, missed } = choice
  return {
    survivors: candidates.map(({ directory, identity, clusterId, damage, suspect, log }) => ({
      member: identity.member,
      clusterId,
      directory,
      damage,
      suspect,
      lastTerm: log?.lastTerm ?? null,
      lastIndex: log?.lastIndex ?? null,
      committed: log?.committed ?? null,
      applied: log?.applied ?? null,
      revision: log?.revision ?? null,
    })),
    best: best.identity.member,
    missing: lost,
    committed,
    unproven,
    dropped,
    missed,
  }
}
