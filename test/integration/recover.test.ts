/*
 * Goal: the best survivor of a lost majority is found, possible losses are reported, nothing
 * changes before the operator confirms, and a crash in the middle costs only a retry.
 * Method: the shipped command in this process on real directories of members of a cluster of five,
 * whose logs are written by hand.
 */
import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { encodeEnvelope, FileDisk, logIndex, nodeId, term, Wal } from '../../raft/index.ts'
import type { Entry } from '../../raft/index.ts'
import { FileClusterRecord } from '../../src/data-dir/cluster-record-file.ts'
import { claimDirectory, readIdentity } from '../../src/data-dir/member-identity.ts'
import { undoRecovery } from '../../src/backup/recover.ts'
import { inspectDataDir } from '../../src/backup/recovery-candidate.ts'
import { cli } from '../../src/cli/cli.ts'
import { RealClock } from '../../src/host/clock.ts'
import { lockDirectory } from '../../src/host/directory-lock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { disagreementChange } from '../../src/store/disk/disagreement-record.ts'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import { encodeCommand } from '../../src/store/command-codec.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { fileOf, streamOf } from '../support/fixtures/snapshot-file.ts'
import { configMapKey, put, write } from '../../fixtures/store-kit.ts'

const databases = mkdtempSync(join(tmpdir(), 'orch-recover-'))
after(() => rmSync(databases, { recursive: true, force: true }))

const names = ['n1', 'n2', 'n3', 'n4', 'n5']
const ports = await freePorts(10)
const list = names
  .map((name, at) => `${name}=127.0.0.1:${ports[2 * at]}/127.0.0.1:${ports[2 * at + 1]}`)
  .join(',')

/** The directories of five members after the failure; a fresh copy for each test. */
const kept = join(databases, 'kept')
{
  const { machine, chunks } = await streamOf(4, 100)
  await machine.close()
  writeFileSync(join(databases, 'b.snap'), fileOf(chunks, null))
  let id: readonly string[] = []
  for (const name of names) {
    const directory = join(kept, name)
    const args = [
      '--data-dir',
      directory,
      '--name',
      name,
      '--cluster-name',
      'lost',
      '--initial-members',
      list,
    ]
    const ran = await orchctl('snapshot', 'restore', join(databases, 'b.snap'), ...args, '-o', 'json', ...id)
    assert.equal(ran.code, 0, ran.err)
    id = ['--restore-id', String((JSON.parse(ran.out) as Record<string, unknown>)['restoreId'])]
  }
}
const base = 100
const first = 5

/** Appends writes of `inTerm` to a member's log. */
function append(directory: string, inTerm: number, keys: readonly string[], commit: number): void {
  const owner = readIdentity(directory)?.id ?? nodeId(1)
  const wal = Wal.open({ disk: new FileDisk(join(directory, 'log')), random: new RealRandom(), owner })
  const entries = keys.map((key, at): Entry => {
    const index = logIndex(wal.lastIndex + 1 + at)
    const payload = encodeCommand(write(put(configMapKey(key), key)))
    const envelope = {
      session: 9,
      sequence: index,
      acknowledgedBelow: 0,
      expectedTerm: term(inTerm),
      payload,
    }
    return { index, term: term(inTerm), kind: 'command', data: encodeEnvelope(envelope) }
  })
  wal.append([
    { snapshot: null, entries, hardState: { term: term(inTerm), vote: null, commit: logIndex(commit) } },
  ])
  wal.close()
}

let copies = 0
function scene(): (name: string) => string {
  const directory = join(databases, `scene-${++copies}`)
  cpSync(kept, directory, { recursive: true })
  return (name) => join(directory, name)
}

async function objectsOf(directory: string): Promise<readonly string[]> {
  const { state, candidate } = await inspectDataDir(directory, new RealRandom())
  assert.ok(state, candidate.damage ?? '')
  return state.objects.list('', null, null).objects.map(({ key }) => key)
}

function contentOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true })
    .map(String)
    .filter((path) => !/(^|\/)(db|pid|lock)/.test(path))
    .sort()
}

void test('the latest term wins over the longer log, and the lost entries are reported', async () => {
  const of = scene()
  append(of('n1'), first, ['a', 'b'], base + 2)
  append(of('n2'), first, ['a', 'b', 'c', 'd', 'e'], base + 1)
  append(of('n1'), first + 1, ['x', 'y'], base + 2)
  const before = contentOf(of('n1'))
  const requested = await orchctl('recover', '--data-dir', of('n1'), of('n2'))
  assert.equal(requested.code, 1)
  assert.match(requested.err, /nothing was changed: use --yes to continue from n1 alone/)
  assert.deepEqual(contentOf(of('n1')), before)
  const rows = requested.out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 5).join(' '))
  assert.equal(rows[0], 'MEMBER LAST TERM LAST INDEX COMMITTED APPLIED')
  assert.equal(rows[1], `n1 ${first + 1} ${base + 4} ${base + 2} ${base}`)
  assert.equal(rows[2], `n2 ${first} ${base + 5} ${base + 1} ${base}`)
  for (const line of [
    /best: n1$/m,
    /missing: (n[345], ){2}n[345]: enough to have acknowledged writes without the members given here$/m,
    new RegExp(`certain: everything up to entry ${base + 2}`),
    new RegExp(`kept: entries ${base + 3} to ${base + 4}, with 2 writes that may or may not have been`),
    new RegExp(`entry ${base + 3}: put /configmaps/default/x`),
    new RegExp(`dropped: entries ${base + 3} to ${base + 5} of n2, with 3 writes, acknowledged only if n`),
    new RegExp(`entry ${base + 3}: put /configmaps/default/c`),
    new RegExp(`lost, if there were any: writes after entry ${base + 2} that only n`),
  ])
    assert.match(requested.out, line)

  const done = await orchctl('recover', '--data-dir', of('n1'), of('n2'), '--yes')
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /n1 is the only voter now, at revision \d{16}, in incarnation \d{8}T/)
  assert.equal(statSync(join(of('n1'), 'db')).mode & 0o777, 0o700)
  const objects = await objectsOf(of('n1'))
  for (const key of ['a', 'b', 'x', 'y']) assert.ok(objects.includes(configMapKey(key)), key)
  assert.ok(!objects.includes(configMapKey('c')))
  const old = readIdentity(join(kept, 'n1'))
  const now = readIdentity(of('n1'))
  assert.ok(old && now && now.id !== old.id && now.life !== old.life)
  const { candidate } = await inspectDataDir(of('n1'), new RealRandom())
  assert.deepEqual(candidate.log?.configuration.voters, [now.id])
  // The previous data directory is kept unchanged.
  const aside = readdirSync(of('n1')).find((entry) => entry.startsWith('before-')) ?? ''
  assert.equal(
    (await inspectDataDir(join(of('n1'), aside), new RealRandom())).candidate.log?.lastIndex,
    base + 4,
  )
  assert.equal(readIdentity(of('n2'))?.id, readIdentity(join(kept, 'n2'))?.id)
  // The recovered member is alone now, so a second recovery has nothing to do.
  const again = await orchctl('recover', '--data-dir', of('n1'), '--yes')
  assert.match(again.err, /of n1 are intact and a majority: no recovery is needed/)
})

void test('a damaged survivor is reported and not chosen', async () => {
  const of = scene()
  append(of('n1'), first + 1, ['x'], base)
  append(of('n2'), first, ['a'], base)
  const segment = join(
    of('n1'),
    'log',
    readdirSync(join(of('n1'), 'log'))
      .filter((name) => /\d\.log$/.test(name))
      .at(-1) ?? '',
  )
  const bytes = readFileSync(segment)
  bytes.writeUInt8(bytes.readUInt8(512 + 60) ^ 1, 512 + 60)
  writeFileSync(segment, bytes)
  const requested = await orchctl('recover', '--data-dir', of('n1'), of('n2'))
  assert.match(requested.err, /n1 is damaged: log .* is damaged at byte/)
  assert.match(requested.err, /use --yes to continue from n2 alone/)
  const alone = await orchctl('recover', '--data-dir', of('n1'), '--yes')
  assert.match(alone.err, /none of the directories is intact: restore a snapshot instead/)
  rmSync(join(of('n2'), 'db'), { recursive: true })
  const empty = await orchctl('recover', '--data-dir', of('n2'), '--yes')
  assert.match(empty.err, new RegExp(`n2 is damaged: there is no database, and the log begins after ${base}`))
})

void test('a disputed state is reported, and a survivor with the same log is preferred', async () => {
  const of = scene()
  for (const name of ['n1', 'n2']) append(of(name), first, ['a'], base + 1)
  const databases = new LevelKeyValueDatabases(join(of('n1'), 'db'))
  const [name = ''] = await databases.list()
  const store = await databases.open(name)
  const reason = 'n2 and n3 have another state at index 99'
  await store.write([disagreementChange({ disagreement: 'outvoted', reason })])
  await store.close()
  const both = await orchctl('recover', '--data-dir', of('n1'), of('n2'))
  assert.match(both.err, new RegExp(`^the state of n1 is suspect: ${reason}$`, 'm'))
  assert.doesNotMatch(both.err, /best log/)
  assert.match(both.out, /^best: n2$/m)
  assert.match(both.out, /^n1 .* suspect /m)
  append(of('n1'), first, ['b'], base + 1)
  const better = await orchctl('recover', '--data-dir', of('n1'), of('n2'))
  assert.match(better.out, /^best: n1$/m)
  assert.match(
    better.err,
    /^n1 has the best log, but other members had another state: after the recovery compare its objects/m,
  )
})

void test('an interrupted recovery lets no server start, and a second one completes it', async () => {
  for (let fails = 2; fails < 4; fails++) {
    const of = scene()
    append(of('n1'), first, ['a'], base)
    const real = new RealRandom()
    let drawn = 0
    const random = {
      below: (bound: number) => real.below(bound),
      bytes: (length: number) => {
        // The first draw names the holder of the lock, the second the incarnation, later ones the
        // log.
        if (++drawn > fails) throw Object.assign(new Error('EIO: no entropy'), { syscall: 'read' })
        return real.bytes(length)
      },
    }
    const reported = { print: () => undefined, note: () => undefined, program: 'orchctl' }
    const words = ['recover', '--data-dir', of('n1'), '--yes']
    const code = await cli(words, { ...reported, random, clock: new RealClock() })
    if (code === 0) {
      assert.equal(fails, 3)
      return
    }
    const identity = readIdentity(join(kept, 'n1'))
    assert.ok(identity)
    assert.ok(existsSync(join(of('n1'), 'unfinished')))
    assert.throws(
      () => claimDirectory(of('n1'), identity),
      /orchctl recover did not finish in .*n1: run it again/,
    )
    const left = contentOf(of('n1'))
    const requested = await orchctl('recover', '--data-dir', of('n1'))
    assert.match(requested.err, /nothing was changed: use --yes to continue from n1 alone/)
    assert.deepEqual(contentOf(of('n1')), left)
    const done = await orchctl(...words)
    assert.equal(done.code, 0, done.err)
    assert.ok((await objectsOf(of('n1'))).includes(configMapKey('a')))
  }
  assert.fail('entropy was never enough')
})

void test('an interrupted recovery leaves its input for the next one, which undoes it only with --yes', async () => {
  const parts = ['log', 'db', 'founding', 'cluster.json', 'lease-promise', 'member.json'] as const
  const before = scene()
  append(before('n1'), first, ['a'], base)
  const whole = contentOf(before('n1'))
  for (let moved = 0; moved <= parts.length; moved++) {
    for (const step of ['moving', 'making'] as const) {
      if (step === 'making' && moved < parts.length) continue
      const directory = join(databases, `ended-${step}-${moved}`)
      cpSync(before('n1'), directory, { recursive: true })
      const aside = 'before-20261121T000000Z-000000000000'
      writeFileSync(join(directory, 'unfinished'), JSON.stringify({ command: 'recover', step, aside }))
      mkdirSync(join(directory, aside))
      for (const name of parts.slice(0, moved))
        renameSync(join(directory, name), join(directory, aside, name))
      if (step === 'making') {
        cpSync(join(kept, 'n2'), directory, { recursive: true, force: true })
        rmSync(join(directory, 'member.json'))
      }
      const left = contentOf(directory)
      const requested = await orchctl('recover', '--data-dir', directory)
      assert.match(requested.err, /nothing was changed: use --yes to continue from n1 alone/)
      assert.match(requested.out, new RegExp(`^n1 .* whole .* ${directory}$`, 'm'))
      assert.deepEqual(contentOf(directory), left)
      undoRecovery(directory)
      assert.deepEqual(contentOf(directory), whole)
      assert.ok((await objectsOf(directory)).includes(configMapKey('a')))
    }
  }
})

void test('half of the voters cannot know whether the members were changed without them', async () => {
  const directory = join(databases, 'half')
  const two = list.split(',').slice(0, 2).join(',')
  const args = ['--data-dir', directory, '--name', 'n1', '--cluster-name', 'lost', '--initial-members', two]
  assert.equal((await orchctl('snapshot', 'restore', join(databases, 'b.snap'), ...args)).code, 0)
  const { out } = await orchctl('recover', '--data-dir', directory)
  assert.match(
    out,
    /^missing: n2: not enough to have acknowledged writes, unless the members were changed since$/m,
  )
  assert.match(out, /^lost, if there were any: .* that only n2 had, after a change of members unknown here$/m)
})

void test('directories that need no recovery or belong to no cluster are refused with a one-line error', async () => {
  const of = scene()
  const one = async (line: RegExp, ...args: readonly string[]): Promise<void> => {
    const ran = await orchctl('recover', ...args, '--yes')
    assert.equal(ran.code, 1, ran.err)
    assert.match(ran.err, line)
    assert.ok(!ran.err.includes('\n'), ran.err)
  }
  await one(
    /of n1, n2, n3 are intact and a majority: .*start them/,
    '--data-dir',
    of('n1'),
    of('n2'),
    of('n3'),
  )
  const other = scene()
  await one(/are both member n1: give the one that ran last/, '--data-dir', of('n1'), other('n1'))
  const foreign = join(databases, 'foreign')
  const args = ['--data-dir', foreign, '--name', 'n2', '--cluster-name', 'lost', '--initial-members', list]
  assert.equal((await orchctl('snapshot', 'restore', join(databases, 'b.snap'), ...args)).code, 0)
  await one(/belong to different clusters, or incarnations of one/, '--data-dir', of('n1'), foreign)
  const apart = scene()('n2')
  const clusterId = 'c1'.repeat(16)
  // The record of members that were started after they were restored.
  new FileClusterRecord(of('n1')).write({ clusterId, founded: true, founders: [], restored: 'a state' })
  new FileClusterRecord(apart).write({ clusterId: 'd1'.repeat(16), founded: true, founders: [] })
  const groups = new RegExp(
    `separately founded clusters: .*n1 of cluster ${clusterId}; .*n2 of cluster (d1){16}; give those of one`,
  )
  await one(groups, '--data-dir', of('n1'), apart)
  assert.match(
    (await orchctl('recover', '--data-dir', of('n1'))).out,
    new RegExp(`CLUSTER ID.*\\n.*${clusterId}`),
  )
  rmSync(join(apart, 'cluster.json'))
  assert.doesNotMatch((await orchctl('recover', '--data-dir', of('n1'), apart)).err, /separately founded/)
  await one(/does not exist: give the directories/, '--data-dir', join(databases, 'none'))
  await one(/is no member's data directory/, '--data-dir', kept)
  await one(/b\.snap is not a directory: give the data directories/, '--data-dir', join(databases, 'b.snap'))
  await one(/n1 is given twice: give each directory once/, '--data-dir', of('n1'), of('n1'))
  const linked = join(databases, 'linked')
  symlinkSync(of('n1'), linked)
  await one(/n1 and .*linked are one directory, which is given twice/, '--data-dir', of('n1'), linked)
  const lock = await lockDirectory(of('n1'), 4242)
  await one(/in use by process 4242: stop it/, '--data-dir', of('n1'))
  lock.release()
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(ports[8], '127.0.0.1', resolve))
  await one(
    /member n5 answers at 127\.0\.0\.1:\d+: stop it and give its directory too, or use --dead n5/,
    '--data-dir',
    of('n1'),
  )
  const done = await orchctl('recover', '--data-dir', of('n1'), '--dead', 'n5', '--yes')
  server.close()
  assert.equal(done.code, 0, done.err)
})
