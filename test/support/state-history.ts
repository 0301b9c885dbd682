import assert from 'node:assert/strict'
import type { SeededRandom } from '../../raft/base/random.ts'
import { emptyConfiguration, logIndex, nodeId } from '../../raft/index.ts'
import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import { reportSamplesMax } from '../../src/cluster/member-report.ts'
import type { CopiedStretch, DigestSample } from '../../src/cluster/member-report.ts'
import { judgeState, mayGive } from '../../src/cluster/state-agreement.ts'
import type { StateVerdict, Testimony } from '../../src/cluster/state-agreement.ts'
import { descentOfCopy, provenUpTo } from '../../src/store/descent.ts'

const untold: StateVerdict = { kind: 'agree', upTo: null, provenUpTo: null }
const ownSamplesMax = 64
/** Turns after which what a member said is forgotten. */
const reportTurnsMax = 10

/** One member, whose state is only right or wrong. Decisions and records are the program's. */
export class HistoryMember {
  readonly id: NodeId
  isUp = true
  /** false: in quarantine. */
  isTrusted = true
  isWrong = false
  /** The next entry is applied wrongly. */
  isToErr = false
  /** The next entry removes what was wrong. */
  isToForget = false
  index: LogIndex = logIndex(0)
  descent: readonly CopiedStretch[] = []
  proven: LogIndex = logIndex(0)
  samples: DigestSample[] = []
  verdict: StateVerdict = untold
  readonly heard = new Map<NodeId, Testimony & { readonly turn: number }>()
  #hasWrongSamples = false

  constructor(id: number) {
    this.id = nodeId(id)
  }

  /** It is wrong, or was when it took samples that it still tells of. */
  get wasWrong(): boolean {
    return this.isWrong || this.#hasWrongSamples
  }

  applyUpTo(index: LogIndex): void {
    if (!this.isUp || !this.isTrusted || index <= this.index) return
    this.index = index
    this.isWrong = (this.isWrong && !this.isToForget) || this.isToErr
    this.isToErr = false
    this.isToForget = false
    this.sample()
  }

  sample(): void {
    if (this.samples.at(-1)?.index === this.index) return
    this.#hasWrongSamples ||= this.isWrong
    const digest = (this.isWrong ? 'f' : '0').repeat(32)
    this.samples = [...this.samples, { index: this.index, featureLevel: 1, digest }].slice(-ownSamplesMax)
  }

  /** The state is lost, or found wrong. */
  distrust(): void {
    this.isTrusted = false
    this.samples = []
    this.verdict = untold
  }

  /** The state of another takes the place of its own. */
  install({ index, isWrong, isToForget }: HistoryMember): void {
    Object.assign(this, { index, isWrong, isToForget, isTrusted: true, proven: logIndex(0) })
    this.samples = []
    this.#hasWrongSamples = false
    this.verdict = untold
    this.sample()
  }

  /** What only memory knows is gone. */
  restart(): void {
    this.samples = []
    this.#hasWrongSamples = false
    this.proven = logIndex(0)
    this.verdict = untold
    this.heard.clear()
    this.isUp = true
  }
}

export class History {
  readonly members: readonly HistoryMember[]
  readonly configuration: Configuration
  /** Members judge as if nobody had copied anything. */
  readonly #blind: boolean
  #last: LogIndex = logIndex(0)
  #turn = 0

  constructor(count: number, { blind = false } = {}) {
    this.members = Array.from({ length: count }, (_, at) => new HistoryMember(at + 1))
    this.configuration = { ...emptyConfiguration, voters: this.members.map(({ id }) => id) }
    this.#blind = blind
  }

  member(id: number): HistoryMember {
    const found = this.members[id - 1]
    assert.ok(found)
    return found
  }

  /** The log grows, and whoever is up applies it. */
  advance(entries: number): void {
    this.#last = logIndex(this.#last + entries)
    for (const member of this.members) member.applyUpTo(this.#last)
  }

  /** What was wrong is trimmed away at one index, by all that have not applied it yet. */
  forget(): void {
    for (const member of this.members) member.isToForget = true
    this.advance(1)
  }

  /** A member that was down applies what it missed. */
  catchUp(member: HistoryMember): void {
    member.applyUpTo(this.#last)
  }

  /** @returns whether the state was given */
  copy(from: HistoryMember, to: HistoryMember): boolean {
    if (from === to || ![from, to].every(({ isUp }) => isUp) || !from.isTrusted) return false
    const { index } = from
    if (to.isTrusted ? index <= to.index : index < to.index) return false
    const healthy = new Map([[from.id, from.descent]])
    for (const [id, said] of this.#heardBy(from)) healthy.set(id, said.copied)
    const asked = { atLeast: to.isTrusted ? null : to.index, configuration: this.configuration, healthy }
    if (!mayGive(from.verdict, asked)) return false
    to.descent = descentOfCopy(from.descent, { self: from.id, proven: from.proven, index })
    to.install(from)
    return true
  }

  report(from: HistoryMember, to: HistoryMember): void {
    if (from === to || !from.isUp || !to.isUp) return
    if (!from.isTrusted) return void to.heard.delete(from.id)
    const samples = from.samples.slice(-reportSamplesMax)
    to.heard.set(from.id, { samples, copied: this.#blind ? [] : from.descent, turn: this.#turn })
  }

  /** A member looks at what it heard, and acts on it. @returns what it found; null when it cannot look */
  judge(member: HistoryMember): StateVerdict['kind'] | null {
    if (!member.isUp || !member.isTrusted) return null
    const own = { samples: member.samples, copied: this.#blind ? [] : member.descent }
    const others = this.#heardBy(member)
    const verdict = judgeState({ self: member.id, configuration: this.configuration, own, others })
    member.verdict = verdict
    if (verdict.kind === 'agree' || verdict.kind === 'majority') {
      if (verdict.provenUpTo !== null && verdict.provenUpTo > member.proven)
        member.proven = verdict.provenUpTo
      member.descent = provenUpTo(member.descent, member.proven)
    }
    if (verdict.kind === 'minority') member.distrust()
    return verdict.kind
  }

  /** Everybody who is up hears everybody, and judges. */
  talk(): readonly (StateVerdict['kind'] | null)[] {
    this.pass()
    for (const from of this.members) for (const to of this.members) this.report(from, to)
    return this.members.map((member) => this.judge(member))
  }

  /** Time goes by. */
  pass(): void {
    this.#turn++
  }

  #heardBy(member: HistoryMember): ReadonlyMap<NodeId, Testimony> {
    return new Map([...member.heard].filter(([, { turn }]) => this.#turn - turn <= reportTurnsMax))
  }
}

/**
 * One turn at random: entries, reports that come late or never, falls, restarts, installations, rot, repairs, and now and
 * then what was wrong is trimmed away.
 *
 * @param judged hears what each member found before it acts on it
 */
export function randomTurn(
  history: History,
  random: SeededRandom,
  judged: (member: HistoryMember, kind: StateVerdict['kind'] | null) => void,
): void {
  const { members } = history
  const member = random.pick(members)
  history.pass()
  switch (random.below(9)) {
    case 0:
    case 1:
    case 2:
      if (random.chance(0.05)) history.forget()
      else history.advance(1 + random.below(30))
      break
    case 3:
      member.isUp = false
      break
    case 4:
      if (!member.isUp) member.restart()
      if (random.chance(0.5)) history.catchUp(member)
      break
    case 5:
      if (random.chance(0.2)) member.distrust()
      break
    case 6:
      for (const to of members) if (to.isUp && !to.isTrusted) history.copy(random.pick(members), to)
      break
    case 7:
      history.copy(random.pick(members), member)
      break
    default:
      for (const from of members) {
        for (const to of members) if (random.chance(0.7)) history.report(from, to)
      }
  }
  for (const judge of members) if (random.chance(0.5)) judged(judge, history.judge(judge))
}
