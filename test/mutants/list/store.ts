import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** src/store: what is on disk and comes back from it, and whether it is trusted. */
export const storeMutants: readonly Mutant[] = [
  {
    id: 'applied-index-outside-batch',
    file: 'src/store/disk/persister.ts',
    edits: [
      {
        find: 'this.#options.store.write(cut.changes).then(',
        replace:
          'this.#options.store.write(cut.changes.slice(-1)).then(() => this.#options.store.write(cut.changes.slice(0, -1))).then(',
      },
    ],
    breaks: 'the applied index is written before the objects that it covers',
    standsFor: 'etcd#13766: revision and data inconsistent after a crash',
    invariant: 'I11',
    killedBy: tests('unit/src/store/crash-recovery'),
  },
  {
    id: 'batch-not-atomic',
    file: 'src/store/disk/level-key-value-store.ts',
    edits: [
      {
        find: 'const batch = this.#level.batch()\n      for (const change of changes) {',
        replace: 'for (const change of changes) {\n        const batch = this.#level.batch()',
      },
      {
        find: 'else batch.del(change.key)\n      }\n      await batch.write({ sync: true })',
        replace: 'else batch.del(change.key)\n        await batch.write({ sync: true })\n      }',
      },
    ],
    breaks: 'the changes of a batch reach the database one by one',
    standsFor: 'etcd#14685: half of a change on disk after a crash',
    invariant: 'I11',
    killedBy: tests('conformance/key-value-store'),
  },
  {
    id: 'database-not-synced',
    file: 'src/store/disk/level-key-value-store.ts',
    edits: [{ find: '{ sync: true }', replace: '{ sync: false }' }],
    breaks: 'a batch is reported durable without a sync, and the log is compacted up to it',
    standsFor: 'etcd#14140',
    invariant: 'I11',
    killedBy: tests('unit/src/store/disk/level-sync'),
  },
  {
    id: 'log-cut-at-memory',
    file: 'src/store/live-state.ts',
    edits: [{ find: 'return this.#appliedDisk\n', replace: 'return this.machine.applied\n' }],
    breaks: 'the log is compacted up to the state in memory instead of the state in the database',
    standsFor: 'the log is compacted only up to the state in the database',
    invariant: 'I15',
    killedBy: tests('unit/src/store/store-machine'),
    seeds: 20,
  },
  {
    id: 'database-passes-the-log',
    file: 'src/store/disk/persister.ts',
    edits: [{ find: 'if (cut.applied.index > this.#logPersisted) return', replace: '' }],
    breaks: "the database contains entries that this member's own log may lose",
    standsFor: 'the database never holds entries that the log may lose',
    invariant: 'I15',
    killedBy: tests('unit/src/store/store-machine'),
  },
  {
    id: 'staged-taken-as-live',
    file: 'src/store/disk/live-database.ts',
    edits: [
      {
        find: 'if (index > logBase.index) await databases.destroy(name)',
        replace: 'if (index < 0) await databases.destroy(name)',
      },
    ],
    breaks: 'a start opens a staged snapshot as the live database',
    standsFor: 'an earlier bug here: a snapshot that was not committed in the log',
    invariant: 'I11',
    killedBy: tests('unit/src/store/live-database'),
  },
  {
    id: 'stages-side-by-side',
    file: 'src/store/staging.ts',
    edits: [
      {
        find: 'const staging = this.#staging.then(() => this.#stage(snapshot))',
        replace: 'const staging = this.#stage(snapshot)',
      },
    ],
    breaks: 'a second snapshot is staged while the first is still being aborted',
    standsFor: 'etcd#18055: two snapshots in a short time',
    invariant: 'I11',
    killedBy: tests('unit/src/store/store-machine'),
  },
  {
    id: 'snapshot-goes-back',
    file: 'src/store/staging.ts',
    edits: [{ find: 'if (snapshot.index < lowest)', replace: 'if (snapshot.index < 0)' }],
    breaks: 'a snapshot older than memory is staged',
    standsFor: 'etcd#15271: back in time after a partition',
    invariant: 'I12',
    killedBy: tests('unit/src/store/store-machine'),
  },
  {
    id: 'digest-unchecked',
    file: 'src/store/disk/recovery.ts',
    edits: [
      { find: 'if (sameHash(found, digest)) return', replace: 'if (found.length === digest.length) return' },
    ],
    breaks: 'a database is loaded without comparing its digest',
    standsFor: 'missing records',
    invariant: 'I14',
    killedBy: tests('unit/src/store/disk/recovery'),
  },
  {
    id: 'dedupe-not-in-snapshot',
    file: 'src/store/disk/snapshot-reader.ts',
    edits: [{ find: '[sessionRange, versionRange].map(', replace: '[versionRange].map(' }],
    breaks: 'a snapshot contains the objects without the outcomes of commands',
    standsFor: 'Raft thesis §6.3',
    invariant: 'I17',
    killedBy: tests('unit/src/store/disk/snapshot'),
    seeds: 20,
  },
  {
    id: 'revision-reused-after-restart',
    file: 'src/store/disk/recovery.ts',
    edits: [
      {
        find: 'verify(state, head, digest)\n    return state',
        replace:
          'verify(state, head, digest)\n' +
          "    const live = state.objects.list('', null, null).objects.map((version) => version.revision)\n" +
          '    state.revision = live.length === 0 ? head.revision : live.sort((a, b) => b - a)[0]\n' +
          '    return state',
      },
    ],
    breaks: 'after a restart or snapshot the revision is that of the newest object, without deletions',
    standsFor: 'etcd#17780: revisions go back after a crash',
    invariant: 'I12',
    killedBy: tests('unit/src/store/disk/recovery'),
    seeds: 20,
  },
  {
    id: 'quarantine-served',
    file: 'src/store/store-machine.ts',
    edits: [{ find: 'if (this.#quarantine !== null) throw quarantinedError()', replace: '' }],
    breaks: 'a quarantined state is read',
    standsFor: 'a quarantined state is never served',
    invariant: 'I14',
    killedBy: tests('unit/src/store/quarantine'),
  },
  {
    id: 'quarantine-goes-back',
    file: 'src/store/staging.ts',
    edits: [
      {
        find: 'options.wanted ?? logIndex(options.appliedMemory + 1)',
        replace: 'logIndex(options.wanted === null ? options.appliedMemory + 1 : 1)',
      },
    ],
    breaks: 'a quarantined member installs a state older than its clients have observed',
    standsFor: 'etcd#17780: revisions go back',
    invariant: 'I12',
    killedBy: tests('unit/src/store/quarantine'),
  },
  {
    id: 'minority-not-noticed',
    file: 'src/state-agreement/state-agreement.ts',
    edits: [{ find: 'agreedUpTo === null && isOutvoted', replace: 'isOutvoted && index < 0' }],
    breaks: 'a member continues to serve a state that differs from that of a majority',
    standsFor: 'members compare digests at equal indexes',
    invariant: 'I14',
    killedBy: tests('unit/src/state-agreement/judge-state'),
  },
  {
    id: 'states-of-other-indexes-compared',
    file: 'src/state-agreement/state-agreement.ts',
    edits: [
      {
        find: 'one.index === other.index && one.featureLevel === other.featureLevel',
        replace: 'one.featureLevel === other.featureLevel',
      },
    ],
    breaks: 'states at different indexes are compared, and healthy members distrust themselves',
    standsFor: 'digests are compared at equal indexes',
    invariant: 'L3',
    killedBy: tests('unit/src/state-agreement/judge-state'),
  },
  {
    id: 'states-of-other-levels-compared',
    file: 'src/state-agreement/state-agreement.ts',
    edits: [
      {
        find: 'one.index === other.index && one.featureLevel === other.featureLevel',
        replace: 'one.index === other.index',
      },
    ],
    breaks: 'states under different rules are compared, and an upgrade looks like damage',
    standsFor: 'digests are compared within a feature level',
    invariant: 'L3',
    killedBy: tests('unit/src/state-agreement/judge-state'),
  },
  {
    id: 'undecided-forever-served',
    file: 'src/state-agreement/state-guard.ts',
    edits: [{ find: "verdict.kind === 'outvoted' || isOver", replace: "verdict.kind === 'outvoted'" }],
    breaks: 'two members with different states both serve while no third one decides',
    standsFor: 'without a majority the members stop serving',
    invariant: 'L5',
    killedBy: tests('unit/src/state-agreement/state-guard'),
  },
  {
    id: 'suspect-trusted-by-silence',
    file: 'src/state-agreement/state-guard.ts',
    edits: [
      {
        find: 'if (agreedUpTo === null || agreedUpTo < this.#differedAt) return',
        replace: 'if (agreedUpTo === null) return',
      },
    ],
    breaks: 'a suspect state is served again when the member that disagrees with it is unreachable',
    standsFor: 'a wrong state is never served after it was noticed',
    invariant: 'I14',
    killedBy: tests('unit/src/state-agreement/state-guard'),
  },
  {
    id: 'suspect-forgotten-at-restart',
    file: 'src/store/store-machine.ts',
    edits: [{ find: 'this.#live.recordDisagreement({ disagreement, reason })', replace: '' }],
    breaks: 'a suspect state is served again after a restart, until others are compared with it once more',
    standsFor: 'a wrong state is never served after it was noticed',
    invariant: 'I14',
    killedBy: tests('unit/src/store/suspect'),
  },
  {
    id: 'suspect-overwritten',
    file: 'src/store/store-machine.ts',
    edits: [
      {
        find: "if (this.#quarantine?.cause !== 'disagreement') return this.#staging",
        replace: 'return this.#staging',
      },
    ],
    breaks: 'a suspect state, possibly the only correct one, is replaced without an operator',
    standsFor: 'a state that may be correct is never replaced automatically',
    invariant: 'I23',
    killedBy: tests('unit/src/store/suspect'),
  },
  {
    id: 'condemned-not-noted',
    file: 'src/store/live-state.ts',
    edits: [
      {
        find: 'await this.#options.databases.markQuarantined(database.name, reason).catch(() => undefined)',
        replace: 'void reason',
      },
    ],
    breaks: 'after a crash before the quarantined state is renamed, it is trusted again',
    standsFor: 'a quarantined state is never served',
    invariant: 'I14',
    killedBy: tests('unit/src/store/quarantine-crash'),
  },
]
