import { CodedError } from '../../base/coded-error.ts'
import { logIndex } from '../../raft/index.ts'
import type { LogIndex } from '../../raft/index.ts'

/**
 * - `healthy`: the member trusts its state and serves it
 * - `outvoted`: a majority of the voters agrees on another state; the member keeps its state and
 *   does not serve it
 * - `undecided`: other members have another state, without a known majority; the member keeps its
 *   state and does not serve it
 * - `quarantined`: the member has no state and fetches that of another member
 */
export type ReportedState = 'healthy' | 'quarantined' | Disagreement
export type Disagreement = 'outvoted' | 'undecided'

/** The report of one member about its state, for others to compare. */
export type DigestReport = {
  /** Ascending by index; at most `reportSamplesMax`. */
  readonly samples: readonly DigestSample[]
  readonly state: ReportedState
}

/** The report of one member about itself, sent every third second at least. */
export type MemberReport = DigestReport & {
  /** The highest index applied to memory. */
  readonly appliedIndex: LogIndex
  /**
   * An index that this member has not applied yet. Every member that has not applied it either
   * takes a sample at it.
   */
  readonly sampleAt: LogIndex
  /** The highest feature level that the member supports. */
  readonly featureLevelMax: number
  /** Version of its program; at most 64 bytes. */
  readonly version: string
}

/**
 * A digest of the state. At the same index and feature level it is equal on all members with a
 * correct state.
 */
export type DigestSample = {
  readonly index: LogIndex
  readonly featureLevel: number
  /** 32 hexadecimal digits. */
  readonly digest: string
}

/** Samples in one report. When there are more: the newest. */
export const reportSamplesMax = 24

/** `malformed`: not a report, or one in another format. */
export class ReportError extends CodedError<'malformed'> {}

/*
 *   | format 1 | state 1 | feature level max 4 | applied 8 | sample at 8 | version: length 1, text |
 *   | samples: count 1, each | index 8 | feature level 4 | digest 16 | |
 *
 * Numbers are little-endian, those of 8 bytes are doubles. Bytes after the samples belong to later
 * programs.
 */
const formatVersion = 1
const fixedBytes = 24
const sampleBytes = 28
const digestBytes = 16
const versionBytesMax = 64
const states: readonly ReportedState[] = ['healthy', 'quarantined', 'outvoted', 'undecided']

export function encodeReport(report: MemberReport): Uint8Array {
  const version = Buffer.from(report.version, 'utf8').subarray(0, versionBytesMax)
  const samples = report.samples.slice(-reportSamplesMax)
  const bytes = Buffer.alloc(fixedBytes + version.byteLength + samples.length * sampleBytes)
  bytes.writeUInt8(formatVersion, 0)
  bytes.writeUInt8(states.indexOf(report.state), 1)
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
  return bytes
}

/** @throws ReportError */
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
    featureLevelMax: bytes.readUInt32LE(2),
    version: bytes.toString('utf8', 23, 23 + versionLength),
    state: stateOf(bytes.readUInt8(1)),
  }
}

function readIndex(bytes: Buffer, at: number): LogIndex {
  const value = bytes.readDoubleLE(at)
  if (!Number.isSafeInteger(value) || value < 0) throw malformed('not an index')
  return logIndex(value)
}

function stateOf(number: number): ReportedState {
  const state = states[number]
  if (state === undefined) throw malformed(`its state is ${number}`)
  return state
}

function malformed(what: string): ReportError {
  return new ReportError('malformed', `the report of a member cannot be read: ${what}`)
}
