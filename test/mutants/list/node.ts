import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** raft/node: between the core, the log, the peers and the state machine. */
export const nodeMutants: readonly Mutant[] = [
  {
    id: 'snapshot-before-its-log-record',
    file: 'raft/node/driver.ts',
    edits: [
      {
        find: 'if (snapshot !== null) this.#relays.inbox.taken()',
        replace:
          'if (snapshot !== null) {\n      this.#relays.inbox.taken()\n      this.#relays.inbox.install(snapshot)\n    }',
      },
      { find: 'if (held.snapshot !== null) this.#relays.inbox.install(held.snapshot)', replace: '' },
    ],
    breaks: 'a snapshot is installed before the log record that names it is durable',
    standsFor: 'decision 7; etcd#18055',
    invariant: 'I11',
    killedBy: tests('unit/raft/node/snapshot-install'),
  },
  {
    id: 'snapshot-of-a-former-term',
    file: 'raft/node/snapshot-outbox.ts',
    edits: [{ find: "if (stream.term !== term) return this.#end(stream, 'failed')", replace: '' }],
    breaks: 'a snapshot asked for in one term is sent in the name of the next',
    standsFor: 'a bug this project had: two leaders of one term',
    invariant: 'I1',
    killedBy: tests('unit/raft/node/snapshot-streams'),
  },
  {
    id: 'cut-above-a-stream',
    file: 'raft/node/cut-planner.ts',
    edits: [{ find: 'if (ceiling !== null && snapshot.index > ceiling) break', replace: '' }],
    breaks: 'the log is cut above the snapshot a peer is being sent, which then needs another one',
    standsFor: 'slow followers that never catch up',
    invariant: 'L3',
    killedBy: tests('unit/raft/node/cut-planner'),
  },
  {
    id: 'cut-within-retention',
    file: 'raft/node/cut-planner.ts',
    edits: [
      {
        find: 'if (entries < this.#limits.retentionEntries && kept < this.#limits.retentionBytes) break',
        replace: '',
      },
    ],
    breaks: 'the log is cut before followers that lag a little have read it',
    standsFor: 'etcd catch-up entries; history cut too early',
    invariant: 'L3',
    killedBy: tests('unit/raft/node/cut-planner'),
  },
  {
    id: 'credit-return-unheard',
    file: 'raft/node/applier.ts',
    edits: [
      {
        find: '        this.#grant()\n',
        replace: '        this.#grant()\n        if (this.#owed === 0) return\n',
      },
    ],
    breaks: 'entries held back for want of credit are forgotten when it comes back',
    standsFor: 'a bug this project had: a member that waits for the next commit',
    invariant: 'L3',
    killedBy: tests('unit/raft/node/applier'),
  },
  {
    id: 'credit-never-granted',
    file: 'raft/node/applier.ts',
    edits: [
      {
        find: 'this.#options.grant(this.#applied, credit)',
        replace: 'this.#options.grant(this.#applied, credit - credit)',
      },
    ],
    breaks: 'the api thread never gives back the credit it was sent entries on',
    standsFor: 'decision 2: byte credits both ways',
    invariant: 'L3',
    killedBy: tests('unit/raft/node/applier'),
  },
  {
    id: 'stalled-leader-stays',
    file: 'raft/node/stall-watch.ts',
    edits: [{ find: 'return this.#stalledMs >= stallMsMax - lateMs', replace: 'return this.#stalledMs < 0' }],
    breaks: 'a leader whose disk or state machine stands still never gives way',
    standsFor: 'decision 3',
    invariant: 'L2',
    killedBy: tests('unit/raft/node/stall-watch'),
  },
  {
    id: 'cooldown-ignored',
    file: 'raft/node/stall-watch.ts',
    edits: [{ find: ' && now - this.#gaveWayMs >= stallCooldownMs', replace: '' }],
    breaks: 'where all are slow, leadership goes from one to the other without end',
    standsFor: 'decision 3: with a cooldown',
    invariant: 'L2',
    killedBy: tests('unit/raft/node/stall-watch'),
  },
  {
    id: 'stalled-member-takes-over',
    file: 'raft/node/succession.ts',
    edits: [{ find: 'const may = !standsStill(this.#owed(), now)', replace: 'const may = now >= 0' }],
    breaks: 'leadership is taken by a member that stands still itself',
    standsFor: 'decision 3: to a healthier member',
    invariant: 'L2',
    killedBy: tests('unit/raft/node/succession'),
  },
  {
    id: 'fate-known-too-early',
    file: 'raft/node/proposals.ts',
    edits: [{ find: '.filter((made) => made >= term)', replace: '.filter((made) => made > term)' }],
    breaks: 'a try of the present term is taken for one that can have no effect any more',
    standsFor: 'decision 14',
    invariant: 'I17',
    killedBy: tests('unit/raft/node/proposals'),
  },
  {
    id: 'skipped-entries-forgotten',
    file: 'raft/node/proposals.ts',
    edits: [{ find: 'if (pending.openTries.length > 0) pending.unseen = true', replace: '' }],
    breaks: 'a proposal that a snapshot may hold is said to have had no effect',
    standsFor: 'decision 14',
    invariant: 'I17',
    killedBy: tests('unit/raft/node/proposals'),
  },
  {
    id: 'acknowledged-too-far',
    file: 'raft/node/proposals.ts',
    edits: [
      {
        find: '!this.#pending.has(this.#lowest)) this.#lowest++',
        replace: 'this.#lowest > 0) this.#lowest++',
      },
    ],
    breaks: 'a proposer says that it needs no answers any more for which it still waits',
    standsFor: 'Raft thesis §6.3',
    invariant: 'I17',
    killedBy: tests('unit/raft/node/proposals'),
  },
  {
    id: 'term-not-told-apart',
    file: 'raft/node/proposal-relay.ts',
    edits: [
      { find: "if (batch.term !== term) this.#drop(batch, 'term-changed')\n      else if", replace: 'if' },
    ],
    breaks: 'a proposal made for one term is proposed in another, where it is void',
    standsFor: 'decision 14',
    invariant: 'L2',
    killedBy: tests('unit/raft/node/relays'),
  },
  {
    id: 'unverified-snapshot-believed',
    file: 'raft/node/driver.ts',
    edits: [{ find: " || message.message.kind === 'snapshot') return", replace: ') return' }],
    breaks: 'the core is told of a snapshot of which no state was staged',
    standsFor: 'decision 7',
    invariant: 'I11',
    killedBy: tests('unit/raft/node/snapshot-install'),
  },
]
