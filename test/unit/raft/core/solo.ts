import { present } from '../../../../base/assert.ts'
import type { CoreConfig } from '../../../../raft/core/config.ts'
import type { Message, MessageKind } from '../../../../raft/core/message.ts'
import type { Ready } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId, noIndex, noTerm, term } from '../../../../raft/core/types.ts'
import type { Configuration, Entry, LogIndex, NodeId, Term } from '../../../../raft/core/types.ts'
import { Member, entryAt, lastIndexOf, newDisk } from '../../../scenario/member.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { scenarioConfig } from '../../../scenario/world.ts'

type Of<Kind extends MessageKind> = Extract<Message, { kind: Kind }>

type Start = {
  readonly configuration?: Configuration
  /** Terms of the entries on its disk, from index 1 on. */
  readonly log?: readonly number[]
  readonly term?: number
  readonly vote?: number
  readonly commit?: number
  readonly options?: Partial<CoreConfig>
}

/**
 * Member 1 alone; the test plays all other members. Its disk completes writes at once unless
 * `manual`.
 */
export class Solo {
  readonly member: Member
  manual = false
  #sent: Message[] = []
  readonly confirmed: Ready['readsConfirmed'][number][] = []
  readonly failed: number[] = []

  constructor(start: Start = {}) {
    const disk = newDisk(start.configuration ?? cluster([1, 2, 3]), noIndex, noTerm)
    const entries = (start.log ?? []).map((at, place) => command(place + 1, at))
    const last = entries.at(-1)?.term ?? noTerm
    disk.entries.push(...entries)
    disk.hardState = {
      term: start.term === undefined ? last : term(start.term),
      vote: start.vote === undefined ? null : nodeId(start.vote),
      commit: logIndex(start.commit ?? 0),
    }
    this.member = new Member(scenarioConfig(nodeId(1), start.options ?? {}), disk)
    this.work()
  }

  get raft(): Member['raft'] {
    return this.member.raft
  }

  /** Does all pending work. */
  work(): void {
    while (this.raft.hasReady()) {
      const ready = this.member.takeReady()
      this.#sent.push(...ready.messagesAtOnce)
      this.confirmed.push(...ready.readsConfirmed)
      this.failed.push(...ready.readsFailed)
      for (const { from, bytesMax } of ready.fetches) this.member.fetch(from, bytesMax)
      if (this.manual) continue
      while (this.member.pendingWrites.length > 0) this.#sent.push(...this.member.finishWrite())
    }
  }

  /** Completes the oldest write in progress. */
  finishWrite(): void {
    this.#sent.push(...this.member.finishWrite())
    this.work()
  }

  receive(message: Message): void {
    this.member.receive(message)
    this.work()
  }

  /** Passes an impossible message. @returns why it was refused; null when it was accepted */
  refuses(message: Message): string | null {
    const violation = this.raft.step(message)
    this.work()
    return violation
  }

  tick(count: number): void {
    for (let at = 0; at < count; at++) {
      this.raft.tick()
      this.work()
    }
  }

  propose(...texts: readonly string[]): ReturnType<Member['raft']['propose']> {
    const answer = this.raft.propose(
      texts.map((text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0))),
      this.raft.term,
    )
    this.work()
    return answer
  }

  /** Returns all messages sent since the last call. */
  take(): readonly Message[] {
    const sent = this.#sent
    this.#sent = []
    return sent
  }

  /** Returns the only message of a kind sent since the last call. */
  takeOnly<Kind extends MessageKind>(kind: Kind): Of<Kind> {
    const all = this.takeAll(kind)
    if (all.length !== 1) throw new Error(`${all.length} messages of kind ${kind} instead of one`)
    return present(all[0], 'one message was found')
  }

  takeAll<Kind extends MessageKind>(kind: Kind): readonly Of<Kind>[] {
    return this.take().filter((message): message is Of<Kind> => message.kind === kind)
  }

  /**
   * Is elected by the votes of `voters`, if it is not leader yet.
   *
   * @param accept whether they accept its first entry
   */
  lead(voters: readonly number[] = [2], accept: 'accept' | 'silent' = 'accept'): void {
    this.raft.campaign()
    this.work()
    const requested = term(this.raft.term + 1)
    for (const from of voters) {
      this.receive({
        kind: 'pre-vote-response',
        from: nodeId(from),
        to: nodeId(1),
        term: requested,
        granted: true,
      })
    }
    for (const from of voters) {
      this.receive({
        kind: 'vote-response',
        from: nodeId(from),
        to: nodeId(1),
        term: requested,
        granted: true,
      })
    }
    if (accept === 'accept') for (const from of voters) this.acceptAll(from)
    this.take()
  }

  /** Receives an acknowledgement of the whole log from member `from`. */
  acceptAll(from: number): void {
    this.receive({ ...this.from(from), kind: 'append-accepted', index: this.raft.status().lastIndex })
  }

  /** Returns the address of a message to member 1 in its current term. */
  from(id: number): { readonly from: NodeId; readonly to: NodeId; readonly term: Term } {
    return { from: nodeId(id), to: nodeId(1), term: this.raft.term }
  }

  /** Returns an append of leader `id` with log `terms`, after `previous`. */
  append(id: number, at: number, terms: readonly number[], previous: number, commit: number): Message {
    return {
      kind: 'append-request',
      from: nodeId(id),
      to: nodeId(1),
      term: term(at),
      previousIndex: logIndex(previous),
      previousTerm: term(terms[previous - 1] ?? 0),
      entries: terms.slice(previous).map((of, place) => command(previous + place + 1, of)),
      commit: logIndex(commit),
    }
  }

  /** Returns the terms of its log, durable or not, from index 1 on. */
  terms(): readonly number[] {
    const { memory } = this.member
    const terms: number[] = []
    for (let index = 1; index <= lastIndexOf(memory); index++) {
      terms.push(entryAt(memory, index as LogIndex)?.term ?? -1)
    }
    return terms
  }
}

export function command(index: number, at: number): Entry {
  return { index: logIndex(index), term: term(at), kind: 'command', data: Uint8Array.of(at, index) }
}
