import { Failure } from '../../raft/base/failure.ts'
import { logIndex, nodeId } from '../../raft/index.ts'
import type { LogIndex, NodeId } from '../../raft/index.ts'

/** What one member tells the others about itself, about once a second. */
export type MemberReport = {
  /** Everything up to here is in its memory. */
  readonly appliedIndex: LogIndex
  /** An index it has not applied yet: everyone who has not either takes a sample there. */
  readonly sampleAt: LogIndex
  /** Fingerprints of its state, ascending by index; at most `reportSamplesMax`. */
  readonly samples: readonly DigestSample[]
  /** Whom it copied its state from, as far as that state is not proven since; at most `reportStretchesMax`. */
  readonly copied: readonly CopiedStretch[]
  /** Newest apply logic its program knows. */
  readonly featureLevelMax: number
  /** Of its program; at most 64 bytes. */
  readonly version: string
  /** `quarantined`: it found its state wrong, serves nothing and fetches another. */
  readonly state: 'healthy' | 'quarantined'
}

/** Equal on all members whose state is right: at one index, and under one level of apply logic. */
export type DigestSample = {
  readonly index: LogIndex
  readonly featureLevel: number
  /** 32 hexadecimal digits. */
  readonly digest: string
}

/** Entries `after` < index <= `upTo` of a state that `by` applied before it was copied. null: by several members. */
export type CopiedStretch = {
  readonly by: NodeId | null
  readonly after: LogIndex
  readonly upTo: LogIndex
}

/** Copies of copies in one report: as many as a member keeps. */
export const reportStretchesMax = 8

/** Samples in one report. When there are more: the newest. */
export const reportSamplesMax = 24

/** `malformed`: not a report, or one of a program that says it in another way. */
export class ReportFailure extends Failure<'malformed'> {}

/*
 *   | format 1 | state 1 | feature level max 4 | applied 8 | sample at 8 | version: length 1, text |
 *   | samples: count 1, each | index 8 | feature level 4 | digest 16 | |
 *   | copied stretches: count 1, each | by 8, 0 for several | after 8 | up to 8 | |
 *
 * Numbers are lowest byte first, the long ones as doubles. Bytes behind that belong to later programs; one that does not
 * know of copies ends before them.
 */
const formatVersion = 1
const fixedBytes = 24
const sampleBytes = 28
const stretchBytes = 24
const digestBytes = 16
const versionBytesMax = 64
const stateNumber = { healthy: 0, quarantined: 1 } as const satisfies Record<MemberReport['state'], number>

export function encodeReport(report: MemberReport): Uint8Array {
  const version = Buffer.from(report.version, 'utf8').subarray(0, versionBytesMax)
  const samples = report.samples.slice(-reportSamplesMax)
  const copied = report.copied.slice(-reportStretchesMax)
  const bytes = Buffer.alloc(
    fixedBytes + version.byteLength + samples.length * sampleBytes + 1 + copied.length * stretchBytes,
  )
  bytes.writeUInt8(formatVersion, 0)
  bytes.writeUInt8(stateNumber[report.state], 1)
  bytes.writeUInt32LE(report.featureLevelMax, 2)
  bytes.writeDoubleLE(report.appliedIndex, 6)
  bytes.writeDoubleLE(report.sampleAt, 14)
  bytes.writeUInt8(version.byteLength, 22)
  bytes.set(version, 23)
  let at = 23 + version.byteLength
  bytes.writeUInt8(samples.length, at++)
  for (const { index, featureLevel, digest } of samples) {
    bytes.writeDoubleLE(index, at)
    bytes.writeUInt32LE(featureLevel, at + 8)
    bytes.write(digest, at + 12, digestBytes, 'hex')
    at += sampleBytes
  }
  bytes.writeUInt8(copied.length, at++)
  for (const { by, after, upTo } of copied) {
    bytes.writeDoubleLE(by ?? 0, at)
    bytes.writeDoubleLE(after, at + 8)
    bytes.writeDoubleLE(upTo, at + 16)
    at += stretchBytes
  }
  return bytes
}

/** @throws ReportFailure */
export function decodeReport(report: Uint8Array): MemberReport {
  const bytes = Buffer.from(report.buffer, report.byteOffset, report.byteLength)
  if (bytes.length < fixedBytes) throw malformed('it ends early')
  if (bytes.readUInt8(0) !== formatVersion) throw malformed(`it has format ${bytes.readUInt8(0)}`)
  const versionLength = bytes.readUInt8(22)
  let at = 23 + versionLength
  if (versionLength > versionBytesMax || at >= bytes.length) throw malformed('its version is cut off')
  const count = bytes.readUInt8(at++)
  if (count > reportSamplesMax || at + count * sampleBytes > bytes.length)
    throw malformed('its samples are cut off')
  const samples: DigestSample[] = []
  for (let left = count; left > 0; left--, at += sampleBytes) {
    samples.push({
      index: readIndex(bytes, at),
      featureLevel: bytes.readUInt32LE(at + 8),
      digest: bytes.toString('hex', at + 12, at + 12 + digestBytes),
    })
  }
  return {
    appliedIndex: readIndex(bytes, 6),
    sampleAt: readIndex(bytes, 14),
    samples,
    copied: copiedIn(bytes, at),
    featureLevelMax: bytes.readUInt32LE(2),
    version: bytes.toString('utf8', 23, 23 + versionLength),
    state: stateOf(bytes.readUInt8(1)),
  }
}

function copiedIn(bytes: Buffer, start: number): CopiedStretch[] {
  if (start === bytes.length) return []
  const count = bytes.readUInt8(start)
  if (count > reportStretchesMax || start + 1 + count * stretchBytes > bytes.length)
    throw malformed('its copies are cut off')
  return Array.from({ length: count }, (_, place) => {
    const at = start + 1 + place * stretchBytes
    const by = readIndex(bytes, at)
    return {
      by: by === 0 ? null : nodeId(by),
      after: readIndex(bytes, at + 8),
      upTo: readIndex(bytes, at + 16),
    }
  })
}

function readIndex(bytes: Buffer, at: number): LogIndex {
  const value = bytes.readDoubleLE(at)
  if (!Number.isSafeInteger(value) || value < 0) throw malformed('an index is none')
  return logIndex(value)
}

function stateOf(number: number): MemberReport['state'] {
  if (number === stateNumber.healthy) return 'healthy'
  if (number === stateNumber.quarantined) return 'quarantined'
  throw malformed(`its state is ${number}`)
}

function malformed(what: string): ReportFailure {
  return new ReportFailure('malformed', `the report of a member cannot be read: ${what}`)
}
