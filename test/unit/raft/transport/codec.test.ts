/*
 * Goal: encoded bytes follow proto/*.proto in both directions, and no untrusted bytes do more than
 * fail.
 * Method: random messages of every kind, an independent protobuf library that reads the proto
 * files, and random damage. A failing round prints its seed.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import protobuf from 'protobufjs'
import { SeededRandom } from '../../../../base/random.ts'
import { configurationFault } from '../../../../raft/core/configuration-fault.ts'
import { memberTextBytesMax } from '../../../../raft/core/config.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Configuration } from '../../../../raft/core/types.ts'
import { refusalBytesMax } from '../../../../raft/ports.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { TransportError } from '../../../../raft/transport/errors.ts'
import {
  decodeLinkFrame,
  decodeSnapshotFrame,
  decodeWelcome,
} from '../../../../raft/transport/frame-codec.ts'
import { encodeHelloFrame, encodeMessagesFrame } from '../../../../raft/transport/frame-codec.ts'
import { itemsMax } from '../../../../raft/transport/message-codec.ts'
import { encodeSnapshotFrame, encodeWelcome } from '../../../../raft/transport/frame-codec.ts'
import type { SnapshotFrame } from '../../../../raft/transport/frame-codec.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { plain, sampleConfig, sampleKinds, sampleMessage } from './sample-messages.ts'

const protoDirectory = join(import.meta.dirname, '../../../../../proto')
const root = new protobuf.Root()
root.resolvePath = (_origin, target) => join(protoDirectory, target)
root.loadSync('snapshot.proto')
const LinkFrame = root.lookupType('orch.raft.v1.LinkFrame')
const SnapshotFrameType = root.lookupType('orch.raft.v1.SnapshotFrame')
const Welcome = root.lookupType('orch.raft.v1.Welcome')

/** Returns the bytes after the other library has decoded and encoded them. */
function throughOracle(type: protobuf.Type, bytes: Uint8Array): Uint8Array {
  const plain = type.toObject(type.decode(bytes), { longs: String, enums: String })
  assert.equal(type.verify(type.fromObject(plain)), null)
  return type.encode(type.fromObject(plain)).finish()
}

function framesOf(seed: number): readonly (readonly PeerMessage[])[] {
  const random = new SeededRandom(seed)
  return sampleKinds.map((kind) => [sampleMessage(kind, random), sampleMessage(kind, random)])
}

void test('the message of a long refusal is truncated', () => {
  for (const letter of ['a', 'é', '‘', '😀']) {
    const message = letter.repeat(refusalBytesMax)
    const answer = { kind: 'refused', reason: 'below-live-quorum', message } as const
    const sent = { kind: 'change-answer', from: nodeId(1), to: nodeId(2), round: 1, answer } as const
    const frame = decodeLinkFrame(encodeMessagesFrame(new BinaryWriter(), [sent]))
    const [back] = frame.kind === 'messages' ? frame.messages : []
    assert.ok(back?.kind === 'change-answer' && back.answer.kind === 'refused')
    const bytes = Buffer.byteLength(back.answer.message)
    assert.ok(bytes > refusalBytesMax - 4 && bytes <= refusalBytesMax, `${bytes} of ${letter}`)
    assert.ok(message.startsWith(back.answer.message))
  }
})

void test('a follower decodes the longest texts of a member that a leader accepts', () => {
  const three = cluster([1, 2, 3])
  const [first, ...others] = three.members
  assert.ok(first !== undefined)
  for (const text of ['a'.repeat(memberTextBytesMax), '\u00e9'.repeat(memberTextBytesMax / 2)]) {
    const members = [{ ...first, peerAddress: text, clientAddress: text, version: text }, ...others]
    const configuration: Configuration = { ...three, members }
    assert.equal(configurationFault(configuration), null)
    const message = {
      kind: 'members',
      from: nodeId(1),
      to: nodeId(2),
      index: logIndex(1),
      configuration,
    } as const
    const frame = decodeLinkFrame(encodeMessagesFrame(new BinaryWriter(), [message]))
    assert.deepEqual(frame.kind === 'messages' ? frame.messages : [], [message])
    const longer = { ...configuration, members: [{ ...first, clientAddress: `${text}a` }, ...others] }
    assert.match(configurationFault(longer) ?? '', /at most 320 bytes/)
  }
})

void test('every kind of message survives encoding, also through another protobuf library', () => {
  const writer = new BinaryWriter()
  for (let seed = 1; seed <= 60; seed++) {
    for (const messages of framesOf(seed)) {
      const bytes = encodeMessagesFrame(writer, messages)
      const want = { kind: 'messages', messages }
      assert.deepEqual(plain(decodeLinkFrame(bytes)), plain(want), `seed ${seed}`)
      assert.deepEqual(plain(decodeLinkFrame(throughOracle(LinkFrame, bytes))), plain(want), `seed ${seed}`)
    }
  }
})

void test('another protobuf library decodes our bytes to the same content', () => {
  const message: PeerMessage = {
    kind: 'core',
    message: {
      ...{ kind: 'append-request', from: nodeId(2 ** 53 - 1), to: nodeId(7), term: term(9) },
      ...{ previousIndex: logIndex(300), previousTerm: term(8), commit: logIndex(2 ** 40) },
      entries: [{ index: logIndex(301), term: term(9), kind: 'command', data: Uint8Array.of(1, 2, 3) }],
    },
  }
  const bytes = encodeMessagesFrame(new BinaryWriter(), [message])
  const read = LinkFrame.toObject(LinkFrame.decode(bytes), { longs: String, bytes: String })
  assert.deepEqual(read, {
    messages: [
      {
        appendRequest: {
          address: { from: '9007199254740991', to: '7', term: '9' },
          previousIndex: '300',
          previousTerm: '8',
          commit: '1099511627776',
          entries: [{ index: '301', term: '9', command: 'AQID' }],
        },
      },
    ],
  })
})

void test('hello and snapshot frames survive encoding, also through another protobuf library', () => {
  const random = new SeededRandom(5)
  const hello = {
    protocol: 1,
    protocolMax: 2,
    process: 2 ** 53 - 1,
    cluster: 'prod-ü',
    from: nodeId(2 ** 52 + 1),
    to: nodeId(3),
    identity: { logId: 'a1b2', clusterId: 'c3d4', phase: 'agreed' },
    founding: 'f0',
  } as const
  const helloFrame = encodeHelloFrame(hello)
  for (const bytes of [helloFrame, throughOracle(LinkFrame, helloFrame)]) {
    assert.deepEqual(decodeLinkFrame(bytes), { kind: 'hello', hello })
  }
  const welcome = { protocol: 1, identity: { logId: 'a1', clusterId: 'c1', phase: 'founded' } } as const
  assert.deepEqual(decodeWelcome(throughOracle(Welcome, encodeWelcome(welcome))), welcome)
  const snapshot = { index: logIndex(5), term: term(2), configuration: sampleConfig(random) }
  const frames: readonly SnapshotFrame[] = [
    { kind: 'opening', hello, term: term(3), purpose: 'catch-up', snapshot },
    { kind: 'opening', hello, term: term(3), purpose: 'repair', snapshot },
    { kind: 'chunk', bytes: random.bytes(1000) },
    { kind: 'chunk', bytes: new Uint8Array() },
    { kind: 'trailer', bytes: 1000, sha256: random.bytes(32) },
  ]
  for (const frame of frames) {
    const bytes = encodeSnapshotFrame(frame)
    assert.deepEqual(plain(decodeSnapshotFrame(bytes)), plain(frame))
    assert.deepEqual(plain(decodeSnapshotFrame(throughOracle(SnapshotFrameType, bytes))), plain(frame))
  }
})

void test('fields of a later version are skipped', () => {
  const [message] = framesOf(1)[0] ?? []
  assert.ok(message)
  const writer = new BinaryWriter()
  const later = new BinaryWriter()
    .uint32((99 << 3) | 2)
    .string('later')
    .uint32((98 << 3) | 0)
    .uint32(5)
    .finish()
  const bytes = Buffer.concat([later, encodeMessagesFrame(writer, [message]), later])
  assert.deepEqual(plain(decodeLinkFrame(bytes)), plain({ kind: 'messages', messages: [message] }))
})

void test('data of entries and proposals are views into the frame, not copies', () => {
  const address = { from: nodeId(1), to: nodeId(2), term: term(1) }
  const proposals = [new Uint8Array(5000).fill(7)]
  const bytes = encodeMessagesFrame(new BinaryWriter(), [{ kind: 'forward', ...address, proposals }])
  const frame = decodeLinkFrame(bytes)
  const [message] = frame.kind === 'messages' ? frame.messages : []
  assert.equal(message?.kind === 'forward' && message.proposals[0]?.buffer === bytes.buffer, true)
  const entry = { index: logIndex(1), term: term(1), kind: 'command', data: new Uint8Array(5000) } as const
  const previous = { previousIndex: logIndex(0), previousTerm: term(0), commit: logIndex(0) }
  const appended = encodeMessagesFrame(new BinaryWriter(), [
    { kind: 'core', message: { kind: 'append-request', ...address, ...previous, entries: [entry] } },
  ])
  const read = decodeLinkFrame(appended)
  const [append] = read.kind === 'messages' ? read.messages : []
  assert.ok(append?.kind === 'core' && append.message.kind === 'append-request')
  const [back] = append.message.entries
  assert.equal(back?.kind === 'command' && back.data.buffer === appended.buffer, true)
})

void test('damaged frames are malformed or another valid frame, and nothing else', () => {
  const writer = new BinaryWriter()
  const counts = { malformed: 0, valid: 0 }
  for (let seed = 1; seed <= 120; seed++) {
    const random = new SeededRandom(seed)
    for (const messages of framesOf(seed)) {
      const bytes = damaged(encodeMessagesFrame(writer, messages), random)
      for (const decode of [decodeLinkFrame, decodeSnapshotFrame, decodeWelcome]) {
        try {
          decode(bytes)
          counts.valid++
        } catch (cause) {
          const isMalformed = cause instanceof TransportError && cause.code === 'malformed'
          assert.ok(isMalformed, `seed ${seed}: ${String(cause)}`)
          counts.malformed++
        }
      }
    }
  }
  assert.ok(counts.malformed > 1000 && counts.valid > 100, JSON.stringify(counts))
})

/** Returns the bytes with flipped bits, or with bytes inserted, removed or cut off. */
function damaged(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const list = [...bytes]
  for (let blows = 1 + random.below(4); blows > 0; blows--) {
    const at = random.below(list.length + 1)
    const blow = random.pick(['flip', 'flip', 'insert', 'remove', 'cut'] as const)
    if (blow === 'flip') list[at] = (list[at] ?? 0) ^ (1 << random.below(8))
    else if (blow === 'insert') list.splice(at, 0, random.below(256))
    else if (blow === 'remove') list.splice(at, 1 + random.below(4))
    else list.length = at
  }
  return Uint8Array.from(list)
}

void test('messages that would violate assertions of the core are malformed', () => {
  const address = { from: nodeId(1), to: nodeId(2), term: term(5) }
  const append = (entries: readonly [index: number, term: number][]): Uint8Array =>
    encodeMessagesFrame(new BinaryWriter(), [
      {
        kind: 'core',
        message: {
          ...{ ...address, kind: 'append-request', commit: logIndex(0) },
          ...{ previousIndex: logIndex(10), previousTerm: term(4) },
          entries: entries.map(([index, entryTerm]) => ({
            ...{ index: logIndex(index), term: term(entryTerm), kind: 'empty' as const },
          })),
        },
      },
    ])
  decodeLinkFrame(
    append([
      [11, 4],
      [12, 5],
    ]),
  )
  const refused: readonly [Uint8Array, RegExp][] = [
    [append([[12, 4]]), /not consecutive/],
    [append([[11, 3]]), /decrease/],
    [append([[11, 6]]), /later term/],
    [Uint8Array.of(0x12, 0x02, 0x4a, 0x00), /needs a sender and a receiver/],
    [Uint8Array.of(0x12, 0x00), /unknown kind/],
    [Uint8Array.of(0x0b, 0x0c), /wire type/],
    [Uint8Array.of(0x12, 0xff, 0xff, 0xff, 0x7f), /longer than the message that contains it/],
  ]
  for (const [bytes, pattern] of refused) {
    assert.throws(
      () => decodeLinkFrame(bytes),
      (cause) => cause instanceof TransportError && cause.code === 'malformed' && pattern.test(cause.message),
      pattern.source,
    )
  }
})

void test('lists of too many tiny items are refused', () => {
  const address = { from: nodeId(1), to: nodeId(2), term: term(1) }
  const message = encodeMessagesFrame(new BinaryWriter(), [
    { kind: 'core', message: { kind: 'timeout-now', ...address } },
  ])
  const messages = Buffer.concat(new Array<Uint8Array>(60_000).fill(message))
  assert.throws(() => decodeLinkFrame(messages), {
    code: 'malformed',
    message: 'too many messages in one frame',
  })
  const frameOf = (count: number): Uint8Array => {
    const forward = {
      address: { from: 1, to: 2, term: 1 },
      proposals: new Array(count).fill(Buffer.alloc(0)),
    }
    return LinkFrame.encode(LinkFrame.fromObject({ messages: [{ forward }] })).finish()
  }
  assert.equal(decodeLinkFrame(frameOf(itemsMax)).kind, 'messages')
  assert.throws(() => decodeLinkFrame(frameOf(itemsMax + 1)), {
    code: 'malformed',
    message: 'too many items in one message',
  })
  const proposals = new Array<Uint8Array>(70_000).fill(new Uint8Array())
  assert.throws(
    () => encodeMessagesFrame(new BinaryWriter(), [{ kind: 'forward', ...address, proposals }]),
    /a forward holds a bounded number of proposals/,
  )
})
