import { isRecord } from '../../base/record.ts'
import { featureLevelsMax, memberTextBytesMax } from '../../raft/index.ts'
import type { MemberInfo, NodeId } from '../../raft/index.ts'

/** The description of itself that a new process sends with its join request. */
export type JoinRequest = {
  readonly name: string
  /** Random, stored in its data directory: the same in every retry of one join. 32 hex digits. */
  readonly nonce: string
  readonly clusterName: string
  readonly apiDomain: string
  readonly peerAddress: string
  readonly clientAddress: string
  /** The version of its program. */
  readonly version: string
  readonly featureLevelMax: number
  /** See `ClusterIdentity.keyFingerprints`. */
  readonly fingerprints: Readonly<Record<string, string>>
}

/** The answer: the identity of the new member, and all members. */
export type JoinAnswer = {
  readonly clusterName: string
  /** ID of the cluster incarnation, named `life` in the message. See `MemberIdentity.life`. */
  readonly life: string | null
  readonly apiDomain: string
  readonly clusterId: string
  readonly memberId: NodeId
  /** Index of a configuration that contains the new member. */
  readonly configurationIndex: number
  readonly members: readonly MemberInfo[]
}

const textMax = 512
/** Checks text that goes into the configuration. */
const isMemberText = (text: unknown): boolean =>
  typeof text === 'string' && Buffer.byteLength(text) <= memberTextBytesMax

/** Returns null if a field is missing, malformed or too long. */
export function joinRequestOf(value: unknown): JoinRequest | null {
  if (!isRecord(value)) return null
  const { name, nonce, clusterName, apiDomain, peerAddress, clientAddress, version } = value
  const { featureLevelMax, fingerprints } = value
  const texts = [name, nonce, clusterName, apiDomain, peerAddress, clientAddress, version]
  if (!texts.every((text) => typeof text === 'string' && text.length <= textMax)) return null
  if (typeof nonce !== 'string' || !/^[0-9a-f]{32}$/.test(nonce)) return null
  if (![peerAddress, clientAddress, version].every(isMemberText)) return null
  if (typeof featureLevelMax !== 'number' || !Number.isSafeInteger(featureLevelMax)) return null
  if (featureLevelMax < 0 || featureLevelMax > featureLevelsMax) return null
  if (!isRecord(fingerprints) || Object.keys(fingerprints).length > 16) return null
  const prints: Record<string, string> = {}
  for (const [of, print] of Object.entries(fingerprints)) {
    if (typeof print !== 'string' || print.length > textMax) return null
    prints[of] = print
  }
  return {
    ...{ nonce, featureLevelMax, fingerprints: prints },
    ...{ name: String(name), clusterName: String(clusterName), apiDomain: String(apiDomain) },
    ...{ peerAddress: String(peerAddress), clientAddress: String(clientAddress), version: String(version) },
  }
}
