/*
 * Goal: apply maintains Member objects that show the configuration, with revisions like any other
 * object, from feature level 3 on; other fields are kept.
 * Method: logs of configurations and commands on one machine; random logs on two, divided into
 * batches differently.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { nodeId, term } from '../../../../../raft/index.ts'
import type { Configuration, MemberInfo, MemberRole } from '../../../../../raft/index.ts'
import { encodeObject } from '../../../../../src/api/codec/object-json.ts'
import type { EncodedObject } from '../../../../../src/store/command.ts'
import { digestOf } from '../../../../../src/store/machine/digest.ts'
import { hashText } from '../../../../../src/store/machine/hash.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { memberKey, memberPrefix } from '../../../../../src/store/machine/member-objects.ts'
import { emptyState } from '../../../../../src/store/machine/state.ts'
import { parseStored } from '../../../../../src/registry/kinds/encode.ts'
import { bootstrapOf, randomCommand } from '../../../../../fixtures/store-commands.ts'
import { LogWriter, ownSession, write } from '../../../../../fixtures/store-kit.ts'

const foundedMs = Date.parse('2026-01-02T03:04:05.678Z')
const addedMs = Date.parse('2026-02-03T04:05:06Z')

function infoOf(id: number, role: MemberRole = 'voter', more: Partial<MemberInfo> = {}): MemberInfo {
  return {
    ...{ id: nodeId(id), name: `n${id}`, role, wantedRole: role },
    ...{ peerAddress: `h${id}:7443`, clientAddress: `h${id}:6443` },
    ...{ version: '0.1.0', featureLevel: 3, replaces: null, addedMs: 0 },
    ...more,
  }
}

function simple(...members: MemberInfo[]): Configuration {
  const ids = (role: MemberRole) => members.filter((one) => one.role === role).map(({ id }) => id)
  return {
    ...{ voters: ids('voter'), votersOutgoing: null, learners: ids('learner'), learnersNext: [] },
    ...{ autoLeave: false, members },
  }
}

const three = simple(infoOf(1), infoOf(2), infoOf(3))

/** A founded cluster, its log and one machine. */
class Bench {
  readonly log = new LogWriter()
  readonly machine = new Machine(emptyState())
  #from = 0

  /** @param level feature level; 0: the cluster is not founded */
  constructor(level: number, configuration = three) {
    this.log.configuration(configuration)
    if (level > 0)
      this.log.command(
        bootstrapOf('c', { featureLevel: level, founding: { members: three.members, atMs: foundedMs } }),
      )
    this.run()
  }

  run(): void {
    this.machine.apply(this.log.entries.slice(this.#from), ownSession)
    this.#from = this.log.entries.length
  }

  configure(configuration: Configuration): readonly string[] {
    const before = this.machine.state.revision
    this.log.configuration(configuration)
    this.run()
    return this.events(before)
  }

  events(after: number): readonly string[] {
    const { history } = this.machine.state
    const reported: string[] = []
    for (let at = after + 1; at <= history.last; at++) {
      const { kind, key } = history.note(at as typeof history.last)
      reported.push(`${kind} ${key.split('/').at(-1) ?? ''}`)
    }
    return reported
  }

  get objects(): readonly ReturnType<typeof parseStored>[] {
    return this.machine.state.objects.list(memberPrefix('orch.io'), null, null).objects.map(parseStored)
  }

  object(name: string): ReturnType<typeof parseStored> {
    const found = this.objects.find(({ metadata }) => metadata.name === name)
    return found ?? assert.fail(`there is an object for ${name}`)
  }

  /** Writes to a member's object as the API does. */
  change(name: string, act: (object: ReturnType<typeof parseStored>) => object): void {
    const object = act(this.object(name)) as ReturnType<typeof parseStored>
    this.log.command(
      write({ kind: 'put', key: memberKey('orch.io', name), conditions: [], object: encoded(object) }),
    )
    this.run()
  }
}

function encoded(object: ReturnType<typeof parseStored>): EncodedObject {
  const { text, revisionOffset, itemOffset } = encodeObject(object)
  const { uid = '', labels } = object.metadata
  return {
    bytes: Buffer.from(text),
    ...{ revisionOffset, itemOffset, uid },
    ...{ terminating: false, labels: labels ?? null },
  }
}

void test('from level 3 on each member has an object, encoded as the API does', () => {
  const bench = new Bench(3)
  assert.deepEqual(
    bench.objects.map(({ metadata }) => metadata.name),
    ['n1', 'n2', 'n3'],
  )
  const [first] = bench.objects
  assert.deepEqual(first, {
    kind: 'Member',
    apiVersion: 'cluster.orch.io/v1',
    metadata: {
      name: 'n1',
      uid: first?.metadata.uid,
      resourceVersion: '1',
      creationTimestamp: '2026-01-02T03:04:05Z',
    },
    spec: { role: 'Voter', peerAddress: 'h1:7443', clientAddress: 'h1:6443' },
    status: { id: '1', role: 'Voter', phase: 'NotReady' },
  })
  assert.match(
    first?.metadata.uid ?? '',
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  assert.equal(new Set(bench.objects.map(({ metadata }) => metadata.uid)).size, 3)
  const stored = bench.machine.state.objects.get(memberKey('orch.io', 'n1'))
  const again = encoded(bench.object('n1'))
  assert.deepEqual(
    [stored?.revisionOffset, stored?.itemOffset],
    [again.revisionOffset, again.itemOffset],
    'the offsets are the same',
  )
})

void test('before feature level 3 there are no Member objects, and the rise to it creates those of the current configuration', () => {
  const bench = new Bench(2)
  assert.deepEqual(bench.configure(simple(infoOf(1), infoOf(2))), [])
  assert.equal(bench.objects.length, 0)
  bench.log.command({ kind: 'raise-feature-level', level: 3, founding: { members: [], atMs: addedMs } })
  bench.run()
  assert.deepEqual(
    bench.objects.map(({ metadata }) => [metadata.name, metadata.creationTimestamp]),
    [
      ['n1', '2026-02-03T04:05:06Z'],
      ['n2', '2026-02-03T04:05:06Z'],
    ],
  )
  assert.deepEqual(new Bench(0).objects, [], 'nor without a cluster')
})

void test('without a configuration entry in the log, the members are those in raise-feature-level', () => {
  const log = new LogWriter()
  const machine = new Machine(emptyState())
  log.command(bootstrapOf('c', { featureLevel: 2 }))
  const members = [infoOf(2), infoOf(1)]
  log.command({ kind: 'raise-feature-level', level: 3, founding: { members, atMs: foundedMs } })
  machine.apply(log.entries, ownSession)
  assert.deepEqual(machine.state.configuration, simple(infoOf(1), infoOf(2)))
  const { objects } = machine.state.objects.list(memberPrefix('orch.io'), null, null)
  assert.deepEqual(
    objects.map((version) => parseStored(version).metadata.name),
    ['n1', 'n2'],
  )
  const reported = new Bench(2, simple(infoOf(5)))
  reported.log.command({ kind: 'raise-feature-level', level: 3, founding: { members, atMs: foundedMs } })
  reported.run()
  assert.deepEqual(
    reported.objects.map(({ metadata }) => metadata.name),
    ['n5'],
    'a configuration entry takes precedence',
  )
})

void test('a raise-feature-level command without a time leaves the creation time unset', () => {
  const bench = new Bench(2)
  bench.log.command({ kind: 'raise-feature-level', level: 3 })
  bench.run()
  assert.equal(bench.object('n1').metadata.creationTimestamp, null)
})

void test('each configuration entry updates the objects: of members added, promoted, removed or moved', () => {
  const bench = new Bench(3)
  const fourth = infoOf(4, 'learner', { wantedRole: 'voter', replaces: nodeId(2), addedMs })
  assert.deepEqual(bench.configure(simple(...three.members, fourth)), ['created n4'])
  const { metadata, spec, status } = bench.object('n4')
  assert.equal(metadata.creationTimestamp, '2026-02-03T04:05:06Z')
  assert.deepEqual(spec, {
    role: 'Voter',
    ...{ peerAddress: 'h4:7443', clientAddress: 'h4:6443', replaces: 'n2' },
  })
  assert.deepEqual(status, { id: '4', role: 'Learner', phase: 'Joining' })

  const joint: Configuration = {
    voters: [1, 3, 4].map(nodeId),
    votersOutgoing: [1, 2, 3].map(nodeId),
    ...{ learners: [], learnersNext: [], autoLeave: true },
    members: [...three.members, infoOf(4, 'voter', { addedMs })],
  }
  assert.deepEqual(bench.configure(joint), ['updated n2', 'updated n4'])
  assert.equal((bench.object('n2')['status'] as { phase: string }).phase, 'Removing')
  assert.deepEqual(bench.configure(simple(infoOf(1), infoOf(3), infoOf(4, 'voter', { addedMs }))), [
    'deleted n2',
  ])
  const moved = infoOf(4, 'voter', { addedMs, peerAddress: 'elsewhere:1' })
  assert.deepEqual(bench.configure(simple(infoOf(1), infoOf(3), moved)), ['updated n4'])
  assert.deepEqual(bench.configure(simple(infoOf(1), infoOf(3), moved)), [], 'nothing new')
  bench.log.empty()
  bench.run()
  assert.equal(bench.machine.state.revision, bench.machine.state.history.last)
  assert.equal(bench.objects.length, 3)
})

void test('fields written by others are kept, those of the configuration are restored', () => {
  const bench = new Bench(3)
  bench.change('n2', (object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { zone: 'a', rack: '"resourceVersion":""' } },
    spec: { role: 'Learner', peerAddress: 'a lie', clientAddress: 'another' },
    status: { ...(object['status'] as object), phase: 'Ready', leader: true, term: 7 },
  }))
  // Only a membership change or a new leader updates the objects.
  bench.log.empty()
  bench.run()
  const { metadata, spec, status } = bench.object('n2')
  assert.deepEqual(metadata.labels, { zone: 'a', rack: '"resourceVersion":""' })
  assert.deepEqual(spec, { role: 'Voter', peerAddress: 'h2:7443', clientAddress: 'h2:6443' })
  assert.deepEqual(status, { id: '2', role: 'Voter', phase: 'Ready', leader: true, term: 7 })
  assert.deepEqual(bench.machine.state.objects.get(memberKey('orch.io', 'n2'))?.labels, metadata.labels)
})

void test('whole numbers beyond 2^53 in fields written by others keep all their digits', () => {
  const bench = new Bench(3)
  const managedFields = [
    {
      ...{ manager: 'someone "else"\\', operation: 'Update', apiVersion: 'cluster.orch.io/v1' },
      fieldsV1: { 'f:a': 9007199254740993n, 'f:}"\\': [{}, [-9223372036854775808n], '"]}', 1.5] },
    },
  ]
  bench.change('n2', (object) => ({
    ...object,
    metadata: { ...object.metadata, generation: 9007199254740995n, managedFields },
    status: { ...(object['status'] as object), term: 9007199254740997n, '': [], __: {} },
  }))
  const written = bench.object('n2')
  const moved = [infoOf(1), infoOf(2, 'voter', { peerAddress: 'moved:1' }), infoOf(3)]
  assert.deepEqual(bench.configure(simple(...moved)), ['updated n2'])
  const { metadata, status, spec } = bench.object('n2')
  assert.equal((spec as { peerAddress: string }).peerAddress, 'moved:1')
  const version = metadata.resourceVersion
  assert.deepEqual(metadata, { ...written.metadata, resourceVersion: version })
  assert.deepEqual(status, written['status'])
  assert.deepEqual(metadata['managedFields'], managedFields, 'nothing was lost before that either')
  const stored = bench.machine.state.objects.get(memberKey('orch.io', 'n2'))
  const again = encoded(bench.object('n2'))
  assert.deepEqual([stored?.revisionOffset, stored?.itemOffset], [again.revisionOffset, again.itemOffset])
})

void test('a joining member adopts the announced object of its name; other announced objects stay', () => {
  const bench = new Bench(3)
  for (const name of ['n4', 'n5']) {
    const metadata = { name, uid: `of-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' }
    const announced = {
      ...{ kind: 'Member', apiVersion: 'cluster.orch.io/v1', metadata },
      ...{ spec: { role: 'Voter' }, status: { phase: 'Pending' } },
    }
    const key = memberKey('orch.io', name)
    bench.log.command(write({ kind: 'put', key, conditions: [], object: encoded(announced) }))
  }
  bench.run()
  const learner = infoOf(4, 'learner', { addedMs })
  assert.deepEqual(bench.configure(simple(...three.members, learner)), ['updated n4'])
  const { metadata, status } = bench.object('n4')
  assert.deepEqual([metadata.uid, metadata.creationTimestamp], ['of-n4', '2026-01-01T00:00:00Z'])
  assert.deepEqual(status, { phase: 'NotReady', id: '4', role: 'Learner' })
  assert.deepEqual(bench.object('n5')['status'], { phase: 'Pending' })
  assert.deepEqual(bench.configure(three), ['deleted n4'])
})

void test('another member of the same name has another object', () => {
  const bench = new Bench(3)
  const before = bench.object('n3').metadata.uid
  const other = infoOf(9, 'voter', { name: 'n3', addedMs })
  assert.deepEqual(bench.configure(simple(infoOf(1), infoOf(2), other)), ['deleted n3', 'created n3'])
  assert.notEqual(bench.object('n3').metadata.uid, before)
})

void test('the objects of a restored state match its own configuration from the first empty entry on', () => {
  const bench = new Bench(3)
  const { state } = bench.machine
  state.configuration = simple(infoOf(8, 'voter', { name: 'n1' }))
  const before = state.revision
  bench.log.empty()
  bench.run()
  assert.deepEqual(bench.events(before), ['deleted n1', 'created n1', 'deleted n2', 'deleted n3'])
})

for (let seed = 1; seed <= 3; seed++) {
  void test(`machines agree on members however the log is divided into batches, seed ${seed}`, () => {
    const random = new SeededRandom(seed)
    const log = new LogWriter()
    log.configuration(three)
    for (let left = 300; left > 0; left--) {
      if (random.chance(0.05)) log.term = term(log.term + 1)
      if (random.chance(0.05)) log.empty()
      else if (random.chance(0.1)) {
        const role = (): MemberRole => random.pick(['voter', 'learner'])
        const ids = [2, 3, 4, 5].filter(() => random.chance(0.6))
        log.configuration(simple(infoOf(1), ...ids.map((id) => infoOf(id, role(), { wantedRole: role() }))))
      } else if (left === 200) log.command(bootstrapOf('c', { featureLevel: 2 }))
      else if (left === 150)
        log.command({ kind: 'raise-feature-level', level: 3, founding: { members: [], atMs: addedMs } })
      else log.command(randomCommand(random, log.last))
    }
    const [one, other] = [new Machine(emptyState()), new Machine(emptyState())]
    let raisedWith = 0
    for (const entry of log.entries) {
      one.apply([entry], ownSession)
      if (one.state.featureLevel === 3) raisedWith++
    }
    for (let from = 0; from < log.entries.length;) {
      const to = from + 1 + random.below(40)
      other.apply(log.entries.slice(from, to), ownSession)
      from = to
    }
    assert.equal(hashText(digestOf(one.state)), hashText(digestOf(other.state)))
    assert.ok(raisedWith > 100)
    const names = one.state.objects
      .list(memberPrefix('orch.io'), null, null)
      .objects.map((version) => parseStored(version).metadata.name)
    assert.deepEqual(
      names,
      one.state.configuration.members.map(({ name }) => name),
      `repeat with seed ${seed}`,
    )
  })
}
