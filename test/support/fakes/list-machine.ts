import { assert } from '../../../base/assert.ts'
import { decodeEnvelope, noSnapshot } from '../../../raft/index.ts'
import type {
  Entry,
  LogIndex,
  SettledProposal,
  SnapshotMeta,
  SnapshotSink,
  SnapshotSource,
  StateMachine,
} from '../../../raft/index.ts'

/**
 * The smallest replicated state: all payloads in order, as text. The outcome is how many there are.
 */
export class ListMachine implements StateMachine<number> {
  #lines: string[] = []
  /** Per session: outcome by sequence. */
  #outcomes = new Map<string, number>()
  #applied: SnapshotMeta = noSnapshot
  #disk: SnapshotMeta = noSnapshot
  #staged: { readonly snapshot: SnapshotMeta; readonly text: string } | null = null
  capacity: number = 1
  quarantined: string | null = null
  wanted: LogIndex | null = null

  get isQuarantined(): boolean {
    return this.capacity === 0
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  get appliedMemory(): LogIndex {
    return this.#applied.index
  }

  get appliedDisk(): SnapshotMeta {
    return this.#disk
  }

  onCapacity(): void {
    // Nothing waits for `capacity`: only a quarantine sets it to 0, and a snapshot ends that.
  }

  apply(entries: readonly Entry[], session: number): readonly SettledProposal<number>[] {
    const settled: SettledProposal<number>[] = []
    for (const entry of entries) {
      assert(entry.index === this.#applied.index + 1, 'entries come in order')
      const configuration = entry.kind === 'configuration' ? entry.configuration : this.#applied.configuration
      this.#applied = { index: entry.index, term: entry.term, configuration }
      if (entry.kind !== 'command') continue
      const envelope = decodeEnvelope(entry.data)
      const name = `${envelope.session}.${envelope.sequence}`
      const known = this.#outcomes.get(name)
      const isVoid = known === undefined && envelope.expectedTerm !== entry.term
      if (known === undefined && !isVoid) {
        this.#lines.push(new TextDecoder().decode(envelope.payload))
        this.#outcomes.set(name, this.#lines.length)
      }
      if (envelope.session !== session) continue
      const outcome = this.#outcomes.get(name)
      settled.push({
        sequence: envelope.sequence,
        index: entry.index,
        result: outcome === undefined ? { kind: 'void' } : { kind: 'applied', outcome },
      })
    }
    return settled
  }

  quarantineState(reason: string, atLeast: LogIndex): void {
    this.capacity = 0
    this.quarantined = reason
    this.wanted = atLeast
  }

  logPersisted(index: LogIndex): void {
    if (index >= this.#applied.index) this.#disk = this.#applied
  }

  async produceSnapshot(): Promise<SnapshotSource> {
    const text = JSON.stringify({ lines: this.#lines, outcomes: [...this.#outcomes] })
    const bytes = new TextEncoder().encode(text)
    let at = 0
    return {
      snapshot: this.#applied,
      next: async () => (at >= bytes.length ? null : bytes.subarray(at, (at += 100))),
      close: async () => undefined,
    }
  }

  async stageSnapshot(snapshot: SnapshotMeta): Promise<SnapshotSink> {
    const chunks: Uint8Array[] = []
    return {
      chunk: async (bytes) => {
        chunks.push(bytes)
      },
      finish: async () => {
        this.#staged = { snapshot, text: Buffer.concat(chunks).toString() }
      },
      abort: () => undefined,
    }
  }

  async installSnapshot(snapshot: SnapshotMeta): Promise<void> {
    assert(this.#staged?.snapshot.index === snapshot.index, 'what is installed was staged')
    const state = JSON.parse(this.#staged.text) as { lines: string[]; outcomes: [string, number][] }
    this.#lines = state.lines
    this.#outcomes = new Map(state.outcomes)
    this.#applied = snapshot
    this.#disk = snapshot
    this.#staged = null
    this.capacity = 1
    this.wanted = null
  }
}
