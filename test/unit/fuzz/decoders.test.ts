/*
 * Goal: whatever bytes a decoder is given, it returns a value or refuses them with its own error.
 * It throws no other error, always ends, and allocates no memory for an invented length.
 * Method: real encodings, damaged in a few places or replaced by noise, with their checksums made
 * right again, so that the code after the check of the checksum is reached. A failure names the one
 * command that repeats it.
 */
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { test } from 'node:test'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { SeededRandom } from '../../../base/random.ts'
import { encodeEnvelope, decodeEnvelope, logIndex, term } from '../../../raft/index.ts'
import { decodeConfiguration, encodeConfiguration } from '../../../raft/log/configuration-codec.ts'
import { decodeGroup, decodeGroupHeader, decodeRecord } from '../../../raft/log/group-decoder.ts'
import { GroupEncoder } from '../../../raft/log/group-encoder.ts'
import { groupHeaderBytes, recordHeaderBytes } from '../../../raft/log/layout.ts'
import { isEnvelope } from '../../../raft/protocol/envelope.ts'
import { TransportError } from '../../../raft/transport/errors.ts'
import {
  decodeLinkFrame,
  decodeSnapshotFrame,
  decodeWelcome,
  encodeMessagesFrame,
  encodeSnapshotFrame,
  encodeWelcome,
} from '../../../raft/transport/frame-codec.ts'
import { ApiError } from '../../../src/api/errors/api-error.ts'
import { encodeProtobuf } from '../../../src/api/codec/protobuf-envelope.ts'
import { decodeProtobuf } from '../../../src/api/codec/protobuf.ts'
import { equalJson } from '../../../src/api/json.ts'
import { conform } from '../../../src/api/schema/conform.ts'
import { decodeReport, encodeReport, ReportError } from '../../../src/state-agreement/member-report.ts'
import { MalformedCommandError, decodeCommand, encodeCommand } from '../../../src/store/command-codec.ts'
import { FrameParser, encodeFrame } from '../../../src/store/disk/snapshot-frames.ts'
import { decodeStoredHead, encodeStoredHead } from '../../../src/store/disk/stored-head.ts'
import { DatabaseError } from '../../../src/store/store-errors.ts'
import { headOf } from '../../../src/store/machine/digest.ts'
import { hash128, newHash, writeHash } from '../../../src/store/machine/hash.ts'
import { encodeHead } from '../../../src/store/machine/head.ts'
import { Machine } from '../../../src/store/machine/machine.ts'
import { Sessions } from '../../../src/store/machine/proposer-sessions.ts'
import { emptyState } from '../../../src/store/machine/state.ts'
import { decodeVersion, recordOf } from '../../../src/store/machine/object-version.ts'
import { messageSubjects } from '../../facts/message-subjects.ts'
import { readMessageTable } from '../../facts/message-table.ts'
import { randomObject } from '../../support/generators/random-object.ts'
import { bootstrapOf, randomCommand } from '../../../fixtures/store-commands.ts'
import { ownSession } from '../../../fixtures/store-kit.ts'
import { randomLog } from '../../support/fixtures/store-machines.ts'
import { rounds } from '../../support/fixtures/variants.ts'
import {
  sampleConfig,
  sampleIdentity,
  sampleKinds,
  sampleMessage,
} from '../raft/transport/sample-messages.ts'

type Target = {
  readonly name: string
  /** Returns bytes that the decoder should accept. */
  readonly sample: (random: SeededRandom) => Uint8Array
  readonly decode: (bytes: Uint8Array) => void
  /** Returns whether this is an error with which the decoder refuses bytes, as callers expect. */
  readonly isRefusal: (cause: unknown) => boolean
  /** Corrects the checksums of damaged bytes. */
  readonly seal?: (bytes: Uint8Array) => void
}

const neverRefuses = (): boolean => false
const isMalformed = (cause: unknown): boolean => cause instanceof TransportError && cause.code === 'malformed'
const isStorage = (cause: unknown): boolean => cause instanceof DatabaseError

function sealHash(bytes: Uint8Array, at: number, from: number): void {
  if (bytes.length >= from) writeHash(hash128(bytes, from, newHash()), bytes, at)
}

function setU32(bytes: Uint8Array, at: number, value: number): void {
  if (bytes.length >= at + 4) new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, value, true)
}

/** The state of a machine after many commands, from which records of every kind are taken. */
const lived = new Machine(emptyState())
lived.apply(randomLog(77, 400).entries, ownSession)
const versions = lived.takeChanges().made
const sessionRecords = [...lived.state.sessions.takeChanges()].flatMap(([id, record]) =>
  record === null ? [] : [{ id, record }],
)

function group(random: SeededRandom): Uint8Array {
  const encoder = new GroupEncoder()
  encoder.begin({ logId: random.bytes(8), segment: 1, sequence: random.below(1000), seed: 0 })
  const index = logIndex(1 + random.below(1000))
  encoder.entry({ index, term: term(3), kind: 'command', data: random.bytes(random.below(700)) })
  encoder.entry({ index, term: term(3), kind: 'empty' })
  encoder.entry({ index, term: term(3), kind: 'configuration', configuration: sampleConfig(random) })
  encoder.hardState({ term: term(3), vote: null, commit: index })
  encoder.meta(random.pick(['base', 'snapshot'] as const), {
    index,
    term: term(3),
    configuration: sampleConfig(random),
  })
  encoder.tail({ index, term: term(3) })
  encoder.seal(2)
  return encoder.finish().bytes.slice()
}

function command(random: SeededRandom): Uint8Array {
  return encodeCommand(random.chance(0.05) ? bootstrapOf('c') : randomCommand(random, 100, 'all'))
}

const targets: readonly Target[] = [
  {
    name: 'link frames',
    sample: (random) =>
      encodeMessagesFrame(
        new BinaryWriter(),
        Array.from({ length: 1 + random.below(3) }, () => sampleMessage(random.pick(sampleKinds), random)),
      ),
    decode: decodeLinkFrame,
    isRefusal: isMalformed,
  },
  {
    name: 'frames of a snapshot stream',
    sample: (random) =>
      encodeSnapshotFrame({ kind: 'trailer', bytes: random.below(1e9), sha256: random.bytes(32) }),
    decode: decodeSnapshotFrame,
    isRefusal: isMalformed,
  },
  {
    name: 'welcomes',
    sample: (random) => encodeWelcome({ protocol: random.below(1e6), identity: sampleIdentity(random) }),
    decode: decodeWelcome,
    isRefusal: isMalformed,
  },
  {
    name: 'log groups',
    sample: group,
    decode: (bytes) => {
      const header = decodeGroupHeader(bytes, 0)
      if (header !== null) decodeGroup(bytes, header)
    },
    isRefusal: neverRefuses,
    // Header and first record; the chain ends there, which a decoder must accept.
    seal: (bytes) => {
      setU32(bytes, 4, crc32(bytes.subarray(8, groupHeaderBytes)))
      setU32(bytes, groupHeaderBytes, crc32(bytes.subarray(groupHeaderBytes + 4), 0))
    },
  },
  {
    name: 'log records',
    sample: (random) => {
      const bytes = group(random)
      const header = decodeGroupHeader(bytes, 0)
      const records = header === null ? null : decodeGroup(bytes, header)
      const { offset, length } = random.pick(records ?? assert.fail('a whole group'))
      return bytes.slice(offset, offset + length)
    },
    decode: (bytes) => void decodeRecord(bytes, 0, bytes.length, 5),
    isRefusal: neverRefuses,
    seal: (bytes) => {
      setU32(bytes, 4, Math.max(0, bytes.length - recordHeaderBytes))
      setU32(bytes, 0, crc32(bytes.subarray(4), 5))
    },
  },
  {
    name: 'configurations',
    sample: (random) => encodeConfiguration(sampleConfig(random)),
    decode: decodeConfiguration,
    isRefusal: neverRefuses,
  },
  {
    name: 'envelopes',
    sample: (random) =>
      encodeEnvelope({
        ...{ session: random.below(1e9), sequence: 4, acknowledgedBelow: 2, expectedTerm: term(9) },
        payload: command(random),
      }),
    // Everything that `isEnvelope` accepts can be decoded.
    decode: (bytes) => void (isEnvelope(bytes) && decodeEnvelope(bytes)),
    isRefusal: neverRefuses,
    seal: (bytes) => setU32(bytes, 0, crc32(bytes.subarray(4))),
  },
  {
    name: 'commands',
    sample: command,
    decode: decodeCommand,
    isRefusal: (cause) => cause instanceof MalformedCommandError,
  },
  {
    name: 'stored heads',
    sample: () => encodeStoredHead(encodeHead(headOf(lived.state)), newHash()),
    decode: decodeStoredHead,
    isRefusal: isStorage,
    seal: (bytes) => sealHash(bytes, 0, 16),
  },
  {
    name: 'versions',
    sample: (random) => recordOf(random.pick(versions)).slice(),
    decode: (bytes) => {
      const at = bytes.length < 42 ? 0 : Buffer.from(bytes.buffer, bytes.byteOffset).readDoubleLE(34)
      const expected = versions.find(({ revision }) => revision === at) ?? versions[0]
      decodeVersion(bytes, expected?.revision ?? assert.fail('a version'))
    },
    isRefusal: isStorage,
    seal: (bytes) => sealHash(bytes, 0, 16),
  },
  {
    name: 'sessions and outcomes',
    sample: () => sessionRecords[0]?.record.slice() ?? assert.fail('a session'),
    decode: (bytes) => new Sessions().load(sessionRecords[0]?.id ?? 0, bytes),
    isRefusal: isStorage,
    seal: (bytes) => sealHash(bytes, 0, 16),
  },
  {
    name: 'snapshot frames',
    sample: (random) =>
      encodeFrame(
        random.chance(0.2)
          ? { kind: 'head', storedHead: random.bytes(50) }
          : {
              kind: 'pairs',
              pairs: Array.from({ length: 1 + random.below(4) }, () => [
                random.bytes(9),
                random.bytes(random.below(90)),
              ]),
            },
      ),
    decode: (bytes) => void new FrameParser().push(bytes),
    isRefusal: isStorage,
    seal: (bytes) => {
      setU32(bytes, 0, bytes.length)
      sealHash(bytes, 4, 20)
    },
  },
  {
    name: 'member reports',
    sample: (random) =>
      encodeReport({
        ...{
          version: '1.2.3',
          featureLevelMax: 2,
          state: 'healthy',
          appliedIndex: logIndex(random.below(1e6)),
        },
        sampleAt: logIndex(7),
        samples: [{ index: logIndex(5), featureLevel: 1, digest: '00'.repeat(16) }],
      }),
    decode: (bytes) => void decodeReport(bytes),
    isRefusal: (cause) => cause instanceof ReportError,
  },
  ...messageSubjects(readMessageTable(), 'orch.io').map(({ name, schema }) => ({
    name: `protobuf of ${name}`,
    sample: (random: SeededRandom) => encodeProtobuf(schema, randomObject(schema, random, 'random')),
    decode: (bytes: Uint8Array) => {
      const object = decodeProtobuf(schema, bytes)
      // The encoding contains every required member, so encoding it once more changes nothing.
      const whole = decodeProtobuf(schema, encodeProtobuf(schema, object))
      assert.ok(equalJson(decodeProtobuf(schema, encodeProtobuf(schema, whole)), whole), 'it stays as it is')
      conform(schema, whole)
    },
    isRefusal: (cause: unknown) => cause instanceof ApiError && cause.code === 'BadRequest',
  })),
]

/** Returns noise, or the bytes with bits flipped, large numbers, and bytes inserted or removed. */
function damaged(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  if (random.chance(0.05)) return random.bytes(random.below(200))
  const list = [...bytes]
  for (let blows = 1 + random.below(4); blows > 0; blows--) {
    const at = random.below(list.length + 1)
    const blow = random.pick(['flip', 'flip', 'large', 'insert', 'remove', 'cut'] as const)
    if (blow === 'flip') list[at] = (list[at] ?? 0) ^ (1 << random.below(8))
    else if (blow === 'large') list.splice(at, 4, ...random.pick(largeNumbers))
    else if (blow === 'insert') list.splice(at, 0, random.below(256))
    else if (blow === 'remove') list.splice(at, 1 + random.below(4))
    else list.length = Math.min(list.length, at)
  }
  return Uint8Array.from(list)
}

/**
 * The bytes of large lengths and counts (4 Gi, 2 Gi and 30 Mi), of such arrays, maps and binaries
 * in msgpack, and of the doubles NaN and -Infinity.
 */
const largeNumbers: readonly (readonly number[])[] = [
  [255, 255, 255, 255],
  [255, 255, 255, 127],
  [0, 0, 224, 1],
  [0xdd, 1, 224, 0, 0],
  [0xdf, 1, 224, 0, 0],
  [0xc6, 127, 255, 255, 255],
  [0, 0, 0, 0, 0, 0, 248, 127],
  [0, 0, 0, 0, 0, 0, 240, 255],
]

const inputs = rounds(200, 600)
const memoryMiBMax = 200

for (const target of targets) {
  void test(`${target.name}: damaged input gives a value or a typed error, in bounded memory`, () => {
    const only = process.env['SEED']
    const seeds = only === undefined ? Array.from({ length: inputs }, (_, at) => at + 1) : [Number(only)]
    const counts = { accepted: 0, refused: 0 }
    target.decode(target.sample(new SeededRandom(1)))
    const beforeKiB = process.resourceUsage().maxRSS
    for (const seed of seeds) {
      const random = new SeededRandom(seed)
      const bytes = damaged(target.sample(random), random)
      if (random.chance(0.8)) target.seal?.(bytes)
      try {
        target.decode(bytes)
        counts.accepted++
      } catch (cause) {
        const repeat = `SEED=${seed} node --test --test-name-pattern='${target.name}' dist/test/unit/fuzz/decoders.test.js`
        if (!target.isRefusal(cause)) throw new Error(`${repeat} repeats this: ${String(cause)}`, { cause })
        counts.refused++
      }
    }
    const grownMiB = (process.resourceUsage().maxRSS - beforeKiB) / 1024
    assert.ok(grownMiB < memoryMiBMax, `it took ${grownMiB.toFixed(0)} MiB`)
    assert.ok(only !== undefined || counts.accepted > 0)
  })
}
