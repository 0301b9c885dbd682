/*
 * Goal: a command decodes to what was encoded, its objects without a copy; anything else is
 * refused.
 * Method: random commands there and back; truncated, flipped and foreign bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pack } from 'msgpackr'
import { SeededRandom } from '../../../../base/random.ts'
import { MalformedCommandError, decodeCommand, encodeCommand } from '../../../../src/store/command-codec.ts'
import { nodeId } from '../../../../raft/index.ts'
import type { Command, Founding } from '../../../../src/store/command.ts'
import { bootstrapOf, identityOf, randomCommand, smallSettings } from '../../../../fixtures/store-commands.ts'
import { configMapKey, put, write } from '../../../../fixtures/store-kit.ts'

const founding: Founding = {
  atMs: 1_790_000_000_000,
  members: [1, 2].map((id) => ({
    ...{ id: nodeId(id), name: `n${id}`, role: 'learner', wantedRole: 'voter' },
    ...{ peerAddress: `h${id}:1`, clientAddress: `h${id}:2`, version: '0.1.0', featureLevel: 3 },
    ...{ replaces: null, addedMs: 0 },
  })),
}

const each: readonly Command[] = [
  write(),
  {
    kind: 'bootstrap',
    identity: identityOf('c'),
    settings: smallSettings,
    operations: [put(configMapKey('ä'), '🙂')],
    featureLevel: 1,
  },
  bootstrapOf('d', { featureLevel: 2, settings: { ...smallSettings, storageBytesMax: 2 ** 40 } }),
  { kind: 'change-settings', settings: smallSettings },
  { kind: 'change-settings', settings: { ...smallSettings, storageBytesMax: 0 } },
  { kind: 'change-settings', settings: { ...smallSettings, storageBytesMax: 9, leaseReads: 1 } },
  { kind: 'change-settings', settings: { ...smallSettings, storageBytesMax: null, leaseReads: 0 } },
  {
    kind: 'change-settings',
    settings: { ...smallSettings, storageBytesMax: 9, leaseReads: 0, staleAccessMs: 5000 },
  },
  { kind: 'change-settings', settings: smallSettings, expected: { ...smallSettings, storageBytesMax: 7 } },
  bootstrapOf('d', { featureLevel: 1, founding }),
  { kind: 'raise-feature-level', level: 2 },
  { kind: 'raise-feature-level', level: 3, founding },
  { kind: 'expire-sessions', before: 2 ** 40 },
]

/** Treats buffers and plain byte arrays alike. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value]
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]))
}

void test('every kind of command decodes to what was encoded', () => {
  for (const command of each) assert.deepEqual(plain(decodeCommand(encodeCommand(command))), plain(command))
  const random = new SeededRandom(9)
  for (let at = 0; at < 2000; at++) {
    const command = randomCommand(random, at, 'all')
    assert.deepEqual(plain(decodeCommand(encodeCommand(command))), plain(command))
  }
})

void test('the bytes of an object are a view of the command', () => {
  const bytes = encodeCommand(write(put(configMapKey('a'), 'value')))
  const command = decodeCommand(bytes)
  assert.equal(command.kind, 'write')
  const [operation] = command.operations
  assert.equal(operation?.kind, 'put')
  assert.equal(operation.object.bytes.buffer, bytes.buffer)
})

void test('truncated bytes are not a command', () => {
  for (const command of each) {
    const bytes = encodeCommand(command)
    for (let length = 0; length < bytes.byteLength; length++) {
      assert.throws(() => decodeCommand(bytes.subarray(0, length)), MalformedCommandError)
    }
  }
})

void test('flipped bytes are a command or malformed, never another error', () => {
  const random = new SeededRandom(10)
  const bytes = encodeCommand(write(put(configMapKey('a'), 'v', { kind: 'uid-is', uid: 'u' })))
  let malformed = 0
  for (let at = 0; at < bytes.byteLength; at++) {
    const flipped = Uint8Array.from(bytes)
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8))
    try {
      decodeCommand(flipped)
    } catch (cause) {
      assert.ok(cause instanceof MalformedCommandError, String(cause))
      malformed++
    }
  }
  assert.ok(malformed > 10)
})

const object = [new Uint8Array(4), 2, 1, 'u', false, null]
const foreign: readonly (readonly [string, unknown])[] = [
  ['a command that is not an array', { kind: 'write' }],
  ['a command of another format', [2, 0, []]],
  ['a command of an unknown kind', [1, 99]],
  ['operations that are not an array', [1, 0, 'x']],
  ['an operation of an unknown kind', [1, 0, [[7, '/a/b/c', []]]]],
  ['a key of three parts', [1, 0, [[1, 'a/b/c', []]]]],
  ['a key that is too long', [1, 0, [[1, `///${'k'.repeat(30_000)}`, []]]]],
  ['a condition of an unknown kind', [1, 0, [[1, '///', [[9]]]]]],
  ['a namespace with a slash', [1, 0, [[1, '///', [[4, 'a/b']]]]]],
  ['an object without bytes', [1, 0, [[0, '///', [], ['text', ...object.slice(1)]]]]],
  ['an offset outside its object', [1, 0, [[0, '///', [], [object[0], 5, ...object.slice(2)]]]]],
  ['an item that begins after the revision', [1, 0, [[0, '///', [], [object[0], 1, 2, ...object.slice(3)]]]]],
  ['labels that are not strings', [1, 0, [[0, '///', [], [...object.slice(0, 5), { a: 1 }]]]]],
  ['a negative revision', [1, 2, -1]],
  ['a revision that is not an integer', [1, 2, 1.5]],
]

for (const [what, value] of foreign) {
  void test(`malformed: ${what}`, () => {
    assert.throws(() => decodeCommand(pack(value)), MalformedCommandError)
  })
}
