/*
 * Goal: a data directory is made as a whole, or no server starts on it and a second try makes it;
 * existing data is never changed.
 * Method: the shipped command in this process on real files, ended in the middle by a disk that
 * fails or entropy that does.
 */
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Level } from 'level'
import { bootstrapOf } from '../../fixtures/store-commands.ts'
import { configMapKey, LogWriter, put, write } from '../../fixtures/store-kit.ts'
import { FileDisk, Wal } from '../../raft/index.ts'
import { backupLimits } from '../../src/backup/limits.ts'
import { FileClusterRecord } from '../../src/data-dir/cluster-record-file.ts'
import { claimDirectory, memberId, peerCluster, readIdentity } from '../../src/data-dir/member-identity.ts'
import { cli } from '../../src/cli/cli.ts'
import { RealClock } from '../../src/host/clock.ts'
import { lockDirectory } from '../../src/host/directory-lock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import { ManualClock } from '../support/fakes/manual-clock.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { fileOf, streamOf } from '../support/fixtures/snapshot-file.ts'
import { MemoryKeyValueDatabases } from '../../src/store/disk/memory-key-value-store.ts'
import { applyUpTo, chunksOf, openMachine } from '../support/fixtures/store-machines.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-restore-'))
const { machine: old, chunks } = await streamOf(4, 200)
const file = join(scratch, 'b.snap')
writeFileSync(file, fileOf(chunks, null))
after(async () => {
  await old.close()
  rmSync(scratch, { recursive: true, force: true })
})

const list = 'n1=127.0.0.1:7443/127.0.0.1:6443,n2=127.0.0.1:7444/127.0.0.1:6444'

function words(name: string, directory: string): string[] {
  return [
    ...['snapshot', 'restore', file, '--data-dir', directory, '--name', name],
    ...['--cluster-name', 'new', '--initial-members', list, '-o', 'json'],
  ]
}

async function restored(
  name: string,
  directory: string,
  ...more: readonly string[]
): Promise<Record<string, string>> {
  const ran = await orchctl(...words(name, directory), ...more)
  assert.equal(ran.code, 0, ran.err)
  return JSON.parse(ran.out) as Record<string, string>
}

function membersFilesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((entry) => !['pid', 'lock.sock'].includes(entry))
    .sort()
}

void test('members restored with one restore id are one cluster, each with a log that begins after the snapshot', async () => {
  const [one, two] = [join(scratch, 'one'), join(scratch, 'two')]
  const first = await restored('n1', one)
  const id = first['restoreId'] ?? ''
  const second = await restored('n2', two, '--restore-id', id)
  assert.equal(second['digest'], first['digest'])
  assert.equal(second['clusterId'], first['clusterId'])
  for (const [directory, name] of [
    [one, 'n1'],
    [two, 'n2'],
  ] as const) {
    assert.deepEqual(membersFilesIn(directory), [
      ...['cluster.json', 'db', 'founding', 'lease-promise', 'log', 'member.json'],
    ])
    assert.equal(statSync(join(directory, 'db')).mode & 0o777, 0o700)
    const clusterId = first['clusterId']
    const record = new FileClusterRecord(directory).read()
    assert.deepEqual(record, { clusterId: '', founded: false, founders: [], restored: clusterId })
    const identity = readIdentity(directory)
    const owner = memberId(peerCluster('new', id), name)
    assert.equal(identity?.id, owner)
    assert.notEqual(owner, memberId('new', name))
    claimDirectory(directory, { cluster: 'new', member: name, id: owner, apiDomain: 'orch.io' })
    const log = Wal.open({ disk: new FileDisk(join(directory, 'log')), random: new RealRandom(), owner })
    const { base, lastIndex, hardState } = log.recovered
    log.close()
    assert.deepEqual([base.index, lastIndex, hardState.vote], [old.appliedMemory, old.appliedMemory, null])
    assert.equal(base.configuration.voters.length, 2)
    const databases = new LevelKeyValueDatabases(join(directory, 'db'))
    const state = await openMachine({
      databases,
      clock: new ManualClock(),
      logBase: base,
      logLast: lastIndex,
    })
    assert.equal(state.digest, first['digest'])
    assert.equal(state.state.objects.size, old.state.objects.size)
    await state.close()
  }
  const other = await restored('n1', join(scratch, 'other'))
  assert.notEqual(other['clusterId'], first['clusterId'])
})

void test('a restore id depends on the file, the members, the cluster name and the keys', async () => {
  const again = join(scratch, 'again.snap')
  const { machine, chunks: others } = await streamOf(5, 200)
  await machine.close()
  writeFileSync(again, fileOf(others, null))
  const id = (await restored('n1', join(scratch, 'bound-1')))['restoreId'] ?? ''
  const directory = join(scratch, 'bound-2')
  const words2 = [...words('n2', directory), '--restore-id', id]
  const moved = list.replaceAll('6444', '6445')
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['another file', words2.map((word) => (word === file ? again : word))],
    ['other members', words2.map((word) => (word === list ? moved : word))],
    ['another cluster', words2.map((word) => (word === 'new' ? 'drill' : word))],
    ['other keys', [...words2, '--new-keys']],
  ]
  for (const [what, args] of cases) {
    const ran = await orchctl(...args)
    assert.equal(ran.code, 1, what)
    assert.match(ran.err, /--restore-id \d{8}T\S+ is not of \S+\.snap, or not of these members/, what)
    assert.ok(!ran.err.includes('\n') && !existsSync(directory), what)
  }
  const copied = join(scratch, 'copied.snap')
  writeFileSync(copied, readFileSync(file))
  const ran = await orchctl(...words2.map((word) => (word === file ? copied : word)))
  assert.equal(ran.code, 0, ran.err)
})

void test('a restore does not overwrite existing data', async () => {
  const directory = join(scratch, 'full')
  mkdirSync(directory)
  writeFileSync(join(directory, 'precious'), 'mine')
  const ran = await orchctl(...words('n1', directory))
  assert.equal(ran.code, 1)
  assert.match(ran.err, /full is not empty \(precious\): give another directory, or move away what is there$/)
  assert.equal(readFileSync(join(directory, 'precious'), 'utf8'), 'mine')
  const own = join(scratch, 'own')
  await restored('n1', own)
  assert.match((await orchctl(...words('n1', own))).err, /own is not empty/)
  const held = join(scratch, 'held')
  mkdirSync(held)
  const lock = await lockDirectory(held, 4242)
  assert.match((await orchctl(...words('n1', held))).err, /in use by process 4242/)
  lock.release()
})

void test('an interrupted restore lets no server start, and a second one completes it', async () => {
  const directory = join(scratch, 'half')
  for (let fails = 2; ; fails++) {
    const real = new RealRandom()
    let drawn = 0
    const random = {
      below: (bound: number) => real.below(bound),
      bytes: (length: number) => {
        // The first draw names the incarnation, the second the holder of the lock, later ones the
        // log.
        if (++drawn > fails) throw Object.assign(new Error('EIO: no entropy'), { syscall: 'read' })
        return real.bytes(length)
      },
    }
    const reported = { print: () => undefined, note: () => undefined, program: 'orchctl' }
    const code = await cli(words('n1', directory), { ...reported, random, clock: new RealClock() })
    if (code === 0) break
    assert.ok(existsSync(join(directory, 'unfinished')), `after ${fails}`)
    const claim = { cluster: 'new', member: 'n1', id: memberId('new', 'n1'), apiDomain: 'orch.io' } as const
    assert.throws(
      () => claimDirectory(directory, claim),
      /snapshot restore did not finish in .*half: run it again/,
    )
    assert.equal(fails, 2)
  }
  assert.ok(!existsSync(join(directory, 'unfinished')))
  const marking = join(scratch, 'marking')
  mkdirSync(marking)
  writeFileSync(join(marking, 'unfinished.new'), '{"comm')
  await restored('n1', marking)
  assert.deepEqual(membersFilesIn(marking), [
    ...['cluster.json', 'db', 'founding', 'lease-promise', 'log', 'member.json'],
  ])
  const locked = join(scratch, 'locked')
  mkdirSync(join(locked, 'db'), { recursive: true })
  writeFileSync(join(locked, 'unfinished'), 'noise')
  assert.match((await orchctl(...words('n1', locked))).err, /unfinished is damaged/)
  assert.ok(existsSync(join(locked, 'db')))
})

void test('an invalid restore fails with a one-line error and creates nothing', async () => {
  const directory = join(scratch, 'none')
  const altered = join(scratch, 'altered.snap')
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 400) ^ 1, bytes.length - 400)
  writeFileSync(altered, bytes)
  const cut = join(scratch, 'cut.snap')
  writeFileSync(cut, readFileSync(file).subarray(0, -1))
  const base = words('n1', directory)
  const with2 = (path: string): string[] => base.map((word) => (word === file ? path : word))
  const cases: readonly (readonly [readonly string[], RegExp, number])[] = [
    [with2(altered), /altered\.snap is damaged: chunk 1 at byte \d+ is not as it was written/, 1],
    [with2(cut), /cut\.snap is truncated/, 1],
    [with2(join(scratch, 'no')), /no cannot be read: it does not exist/, 1],
    [
      [...base, '--api-domain', 'k8s.io'],
      /with API domain orch\.io, not k8s\.io: give --api-domain orch\.io/,
      1,
    ],
    [
      [...base, '--restore-id', '20261121T200501Z-0f3a9c2b41de'],
      /must be the ID that the first restore printed/,
      2,
    ],
    [
      [...base, '--restore-id', 'today'],
      /--restore-id must be the ID that the first restore printed, not "today"/,
      2,
    ],
    [[...base, '--name', 'n9'], /does not list this member: add n9/, 2],
    [[...base, '--key-file', file], /is not encrypted/, 1],
    [['snapshot', 'restore', file], /--data-dir is needed/, 2],
  ]
  for (const [args, line, code] of cases) {
    const ran = await orchctl(...args)
    assert.match(ran.err, line)
    assert.equal(ran.code, code, ran.err)
    assert.ok(!ran.err.includes('\n'), ran.err)
    assert.ok(!existsSync(directory))
  }
})

type Writing = Record<'put' | 'write', (...args: readonly unknown[]) => unknown>

/**
 * Records the bytes of each batch that LevelDB is given from now on, and how many batches are
 * written at a time. Each write takes an additional turn of the event loop.
 */
async function batchesFrom(t: TestContext): Promise<{ readonly bytes: number[]; atOnce: number }> {
  const other = new Level(join(scratch, 'other-level'))
  await other.open()
  const batch = other.batch()
  const prototype = Object.getPrototypeOf(batch) as Writing
  await batch.close()
  await other.close()
  const { put: realPut, write: realWrite } = prototype
  const seen = { bytes: [0], atOnce: 0 }
  let underWay = 0
  t.mock.method(prototype, 'put', function (this: Writing, ...args: readonly unknown[]) {
    for (const one of args.slice(0, 2))
      seen.bytes.push((seen.bytes.pop() ?? 0) + (one as Uint8Array).byteLength)
    return Reflect.apply(realPut, this, args)
  })
  t.mock.method(prototype, 'write', async function (this: Writing, ...args: readonly unknown[]) {
    seen.atOnce = Math.max(seen.atOnce, ++underWay)
    seen.bytes.push(0)
    await setImmediate()
    await Reflect.apply(realWrite, this, args)
    underWay--
  })
  return seen
}

void test('a restore holds about one batch in memory, however large the snapshot is', async (t) => {
  const log = new LogWriter()
  log.command(bootstrapOf('c1', { featureLevel: 2 }))
  for (let at = 0; at < 45; at++) log.command(write(put(configMapKey(`m${at}`), 'x'.repeat(200_000))))
  const clock = new ManualClock()
  const large = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(large, log, log.last)
  await clock.advance(1000)
  const largeFile = join(scratch, 'large.snap')
  writeFileSync(largeFile, fileOf(await chunksOf(await large.produceSnapshot(null)), null))
  await large.close()
  const seen = await batchesFrom(t)
  const args = words('n1', join(scratch, 'large')).map((word) => (word === file ? largeFile : word))
  const ran = await orchctl(...args)
  assert.equal(ran.code, 0, ran.err)
  const written = seen.bytes.filter((bytes) => bytes > 0)
  assert.equal(written.length, 3)
  assert.ok(Math.max(...written) < 1.25 * backupLimits.batchBytesMax, written.join())
  assert.equal(seen.atOnce, 1)
})
