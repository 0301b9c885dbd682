import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, rmdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { FileDisk, initialConfiguration } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import { memberId, peerCluster, writeIdentity } from '../data-dir/member-identity.ts'
import { parseAddress } from '../config/address.ts'
import { syncDirectory } from '../pki/files.ts'
import { LevelKeyValueDatabases } from '../store/disk/level-key-value-store.ts'
import { digestOf, headOf } from '../store/machine/digest.ts'
import { hashText } from '../store/machine/hash.ts'
import type { MachineState } from '../store/machine/state.ts'
import type { ReadableCandidate } from './choose-candidate.ts'
import { BackupError } from './errors.ts'
import { sourceFingerprint } from './incarnation.ts'
import type { ClusterIncarnation } from './incarnation.ts'
import { backupLimits } from './limits.ts'
import { makeLog, NewStateBuilder, recordCluster } from './new-state.ts'
import type { NewState } from './new-state.ts'
import { writeMark, memberFiles, readMark, removeMark } from './unfinished.ts'
import { logFolder, databaseFolder, foundingFileName } from '../data-dir/layout.ts'

/** Moves the files of an interrupted recovery back. No effect without one. */
export function undoRecovery(directory: string): void {
  const unfinished = readMark(directory)
  if (unfinished?.command !== 'recover') return
  const aside = join(directory, unfinished.aside)
  // In step `moving` the remaining files are the original ones.
  if (unfinished.step === 'making') {
    for (const name of memberFiles) rmSync(join(directory, name), { recursive: true, force: true })
    writeMark(directory, { ...unfinished, step: 'moving' })
  }
  if (existsSync(aside)) {
    for (const name of readdirSync(aside)) renameSync(join(aside, name), join(directory, name))
    rmdirSync(aside)
    syncDirectory(directory)
  }
  removeMark(directory)
}

/**
 * Makes the candidate the only voter of a new incarnation with everything in its log. The original
 * files are kept in the directory. Revisions are raised as by a restore: lost members may have
 * served entries that this one never had, under revisions that it would issue again.
 *
 * @param state after the last entry
 * @param incarnationOf creates an incarnation from the fingerprint
 * @returns the new state, and the directory of the original files
 */
export async function recoverInto(
  { directory, identity, log }: ReadableCandidate,
  state: MachineState,
  {
    incarnationOf,
    random,
  }: { readonly incarnationOf: (fingerprint: string) => ClusterIncarnation; readonly random: Random },
): Promise<{ readonly made: NewState; readonly incarnation: ClusterIncarnation; readonly aside: string }> {
  const digest = hashText(digestOf(state))
  const incarnation = incarnationOf(sourceFingerprint(digest, identity.cluster, identity.member))
  const id = memberId(peerCluster(identity.cluster, incarnation.id), identity.member)
  const own = log.configuration.members.find((member) => member.id === identity.id)
  if (own === undefined || state.identity === null) {
    const what = own === undefined ? 'was removed from its cluster' : 'is of a cluster that was never founded'
    throw new BackupError('refused', `${directory} ${what}: restore a snapshot instead`)
  }
  const aside = `before-${incarnation.id}`
  moveAside(directory, aside)
  writeMark(directory, { command: 'recover', step: 'making', aside })
  const info: MemberInfo = { ...own, id, role: 'voter', wantedRole: 'voter', replaces: null, addedMs: 0 }
  const builder = await NewStateBuilder.open({
    old: headOf(state),
    databases: new LevelKeyValueDatabases(join(directory, databaseFolder)),
    incarnation,
    digest,
    configuration: initialConfiguration([info]),
    newKeys: false,
  })
  const { objects } = state.objects.list('', null, null)
  for (const object of objects.sort((a, b) => a.revision - b.revision)) {
    builder.take(object)
    await builder.flush()
  }
  const made = await builder.finish()
  recordCluster(directory, made)
  makeLog(new FileDisk(join(directory, logFolder)), { owner: id, random, base: made.base })
  const founding = join(directory, aside, foundingFileName)
  if (existsSync(founding)) copyFileSync(founding, join(directory, foundingFileName))
  // The member founds the new incarnation, even if it had joined the old one.
  const { cluster, member, apiDomain } = identity
  writeIdentity(directory, { cluster, member, apiDomain, id, life: incarnation.id })
  removeMark(directory)
  return { made, incarnation, aside: join(directory, aside) }
}

function moveAside(directory: string, aside: string): void {
  writeMark(directory, { command: 'recover', step: 'moving', aside })
  mkdirSync(join(directory, aside), { mode: 0o700 })
  for (const name of memberFiles) {
    const path = join(directory, name)
    if (existsSync(path)) renameSync(path, join(directory, aside, name))
  }
  syncDirectory(join(directory, aside))
  syncDirectory(directory)
}

/** Returns the addresses of `members` that accept connections. */
export async function reachableMembers(
  members: readonly MemberInfo[],
  clock: Clock,
): Promise<readonly { readonly member: string; readonly address: string }[]> {
  const found = await Promise.all(
    members
      .flatMap(({ name, peerAddress, clientAddress }) =>
        [peerAddress, clientAddress]
          .filter((address) => address !== '')
          .map((address) => ({ member: name, address })),
      )
      .map(async (one) => ((await answers(one.address, clock)) ? one : null)),
  )
  return found.filter((one) => one !== null)
}

function answers(address: string, clock: Clock): Promise<boolean> {
  const { host, port } = parseAddress(address)
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (answered: boolean): void => {
      timer.cancel()
      socket.destroy()
      resolve(answered)
    }
    const timer = clock.after(backupLimits.answerMsMax, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
