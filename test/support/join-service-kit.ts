import { MembershipError, logIndex, nodeId } from '../../raft/index.ts'
import type {
  Configuration,
  FollowerStatus,
  LogIndex,
  MemberChange,
  MemberInfo,
  MembersChanged,
} from '../../raft/index.ts'
import { planChange } from '../../raft/core/member-change.ts'
import { initialConfiguration } from '../../raft/index.ts'
import type {
  IssuedToken,
  JoinCluster,
  JoinRecords,
  KeptRecord,
  EnrolledMember,
} from '../../src/membership/join-service.ts'
import type { JoinRecord } from '../../src/membership/join-record.ts'
import { recordFields, recordOf } from '../../src/membership/join-record.ts'
import type { JoinRequest } from '../../src/membership/join-request.ts'
import { memberInfo } from '../../fixtures/fake-consensus.ts'

/** A configuration that changes by the shipped plan at once, with all members reachable. */
export class PlannedMembers {
  configuration: Configuration
  readonly changes: MemberChange[] = []
  /** The progress of the followers. */
  followers: readonly FollowerStatus[] = []
  /**
   * The errors of the next calls of `changeMembers`. `before`: the change is not made; `after`: it
   * is made.
   */
  readonly failures: { readonly when: 'before' | 'after'; readonly cause: Error }[] = []
  #index = 10

  constructor(names: readonly string[]) {
    this.configuration = initialConfiguration(names.map((name, at) => memberInfo(at + 1, name)))
  }

  get status(): { readonly configuration: Configuration } {
    return { configuration: this.configuration }
  }

  get applied(): LogIndex {
    return logIndex(this.#index)
  }

  async barrier(): Promise<LogIndex> {
    return logIndex(this.#index)
  }

  async changeMembers(change: MemberChange): Promise<MembersChanged> {
    const failure = this.failures.shift()
    if (failure?.when === 'before') throw failure.cause
    this.changes.push(change)
    const ids = new Set(this.configuration.members.map(({ id }) => id))
    const knowledge = {
      ...{ pending: false, settled: true, responding: ids, caughtUp: ids },
      configurationIndex: this.applied,
    }
    const plan = planChange(this.configuration, change, knowledge)
    if (plan.kind === 'refused') throw new MembershipError(plan.reason, plan.message)
    if (plan.kind === 'change') {
      this.configuration = initialConfiguration(plan.members)
      this.#index++
    }
    if (failure !== undefined) throw failure.cause
    return { configuration: this.configuration, index: logIndex(this.#index) }
  }

  named(name: string): MemberInfo | null {
    return this.configuration.members.find((member) => member.name === name) ?? null
  }
}

/** Join records in memory, as JSON texts with versions. */
export class MemoryJoinRecords implements JoinRecords {
  readonly kept = new Map<string, { readonly fields: string; readonly version: number }>()
  /** Called before each write, to simulate concurrent writers. */
  onSave: () => void = () => undefined
  #version = 0

  async barrier(): Promise<void> {}

  all(): readonly KeptRecord[] {
    return [...this.kept.keys()].flatMap((id) => this.find(id) ?? [])
  }

  find(id: string): KeptRecord | null {
    const kept = this.kept.get(id)
    if (kept === undefined) return null
    const record = recordOf(id, JSON.parse(kept.fields) as Record<string, unknown>)
    if (record === null) throw new Error('a kept record cannot be read')
    return { record, version: kept.version }
  }

  async save(record: JoinRecord, expected: number | null, removed: readonly KeptRecord[]): Promise<boolean> {
    this.onSave()
    if ((this.kept.get(record.id)?.version ?? null) !== expected) return false
    if (removed.some((one) => this.kept.get(one.record.id)?.version !== one.version)) return false
    for (const one of removed) this.kept.delete(one.record.id)
    this.kept.set(record.id, { fields: JSON.stringify(recordFields(record)), version: ++this.#version })
    return true
  }
}

/** @throws when a member was there already */
export function tokenIn(issued: IssuedToken | EnrolledMember): string {
  if (issued.kind === 'member') throw new Error(`${issued.member.name} is a member, so there is no token`)
  return issued.token
}

export const prints = { 'client-ca': 'ab'.repeat(32), 'peer-ca': 'cd'.repeat(32) }

export const cluster: JoinCluster = {
  clusterName: 'c',
  incarnation: null,
  apiDomain: 'orch.io',
  clusterId: '00'.repeat(16),
  fingerprints: prints,
  featureLevel: 3,
}

export const seat = {
  name: 'n4',
  role: 'voter',
  peerAddress: '10.0.0.4:7443',
  clientAddress: '10.0.0.4:6443',
  replaces: null,
} as const

export const request: JoinRequest = {
  name: 'n4',
  nonce: '11'.repeat(16),
  clusterName: 'c',
  apiDomain: 'orch.io',
  peerAddress: '10.0.0.4:7443',
  clientAddress: '10.0.0.4:6443',
  version: '1.0.0',
  featureLevelMax: 3,
  fingerprints: prints,
}

export const someId = nodeId(123_456_789_012)
