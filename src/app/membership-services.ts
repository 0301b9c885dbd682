import type { Consensus } from '../../raft/index.ts'
import { JoinService } from '../membership/join-service.ts'
import { MemberAdmin } from '../membership/member-admin.ts'
import { StateRepair } from '../membership/state-repair.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import { programVersion } from '../version.ts'
import { isIssuedBy } from '../pki/issued-by.ts'
import { StoredJoinRecords } from '../membership/stored-join-records.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { MemberContext } from './context.ts'
import type { StateWatch } from '../state-agreement/state-watch.ts'

export type MembershipDependencies = {
  readonly store: ObjectStore
  readonly machine: Pick<
    StoreMachine,
    'appliedMemory' | 'configuration' | 'quarantine' | 'samples' | 'repair'
  >
  readonly consensus: Pick<
    Consensus<never>,
    'clusterId' | 'status' | 'barrier' | 'changeMembers' | 'transferLeadership'
  >
  readonly watch: Pick<StateWatch, 'guard' | 'reports'>
  /** Returns the current keys: authorities may be replaced while this member runs. */
  readonly keys: () => MemberKeys
}

/**
 * From this feature level on, every program can read configurations that contain the time when a
 * member was added and the member that it replaces.
 */
const joinLevel = 3

/** Builds the services for joining, member administration and repair. */
export function membershipServices(
  { clock, random, config, names, incarnation }: MemberContext,
  { store, machine, consensus, keys, watch }: MembershipDependencies,
): {
  readonly joinService: JoinService
  readonly memberAdmin: MemberAdmin
  readonly stateRepair: StateRepair
} {
  const joinService = new JoinService({
    records: new StoredJoinRecords({ store, clock, random }),
    consensus,
    configuration: () => machine.configuration,
    applied: () => machine.appliedMemory,
    cluster: () => ({
      clusterName: config['cluster-name'],
      incarnation,
      apiDomain: names.domain,
      clusterId: consensus.clusterId,
      fingerprints: keys().fingerprints,
      featureLevel: store.featureLevel,
    }),
    authority: () => authorityOf(keys()),
    hasPeerPort: keys().peer !== null,
    levelMin: joinLevel,
    version: programVersion,
    clock,
    random,
  })
  return {
    joinService,
    memberAdmin: new MemberAdmin({ consensus, configuration: () => machine.configuration }),
    stateRepair: new StateRepair({ state: machine, ...watch, consensus, clock }),
  }
}

/**
 * Returns the fingerprint of the authority of the client port if it also issued the server
 * certificate, so that new members can verify the cluster with it; otherwise null.
 */
function authorityOf({ server, fingerprints }: MemberKeys): string | null {
  const { certificate, clientAuthorities } = server
  if (clientAuthorities === null || !isIssuedBy(certificate, clientAuthorities)) return null
  return fingerprints['client-ca'] ?? null
}
