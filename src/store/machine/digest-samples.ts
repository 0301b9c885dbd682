import type { LogIndex } from '../../../raft/index.ts'
import { digestOf } from './digest.ts'
import { hashText } from './hash.ts'
import type { MachineState } from './state.ts'

/** Digest of the state at one index; equal on all members at equal indexes and feature levels. */
export type DigestSample = {
  readonly index: LogIndex
  readonly featureLevel: number
  /** 32 hexadecimal digits. */
  readonly digest: string
}

export type DigestSamplesLimits = {
  /**
   * A sample is taken at every multiple of this, so that members can compare even under constant
   * load.
   */
  readonly sampleEntries: number
  /** Samples kept. When full: the oldest is dropped. */
  readonly samplesMax: number
  /** Requested future indexes. When full: further requests are ignored. */
  readonly sampleRequestsMax: number
}

/** Digests of the state along the log, at indexes that other members sample too. */
export class DigestSamples {
  readonly #limits: DigestSamplesLimits
  #samples: DigestSample[] = []
  readonly #requested = new Set<LogIndex>()

  constructor(limits: DigestSamplesLimits) {
    this.#limits = limits
  }

  /** Ascending by index. */
  get samples(): readonly DigestSample[] {
    return this.#samples
  }

  /** Called after each applied entry. */
  applied(state: MachineState): void {
    const { appliedIndex } = state
    const isDue = appliedIndex % this.#limits.sampleEntries === 0
    if (this.#requested.delete(appliedIndex) || isDue) this.take(state)
  }

  /** Takes a sample at the current index. */
  take(state: MachineState): void {
    const index = state.appliedIndex
    if (this.#samples.at(-1)?.index === index) return
    const digest = hashText(digestOf(state))
    this.#samples.push({ index, featureLevel: state.featureLevel, digest })
    if (this.#samples.length > this.#limits.samplesMax) this.#samples.shift()
  }

  /** Requests a sample at an index, unless the state has passed it. */
  request(index: LogIndex, state: MachineState): void {
    if (index <= state.appliedIndex || this.#requested.size >= this.#limits.sampleRequestsMax) return
    this.#requested.add(index)
  }
}
