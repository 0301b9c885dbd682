import type { UserInfo } from '../../api/metadata/object.ts'
import { connectionOf } from '../http/peer.ts'
import type { RawRequest } from '../http/raw-http.ts'

export type OutgoingLimits = {
  /** Bytes waiting for clients: of all together, of one user, and of one connection. */
  readonly bytesMax: number
  readonly perUserMax: number
  readonly perConnectionMax: number
  /** A client that has read nothing for this long is disconnected if a limit is reached. */
  readonly slowMsMin: number
}

/** What `OutgoingBytes` needs to know of a call. */
export type SendingCall = {
  readonly closed: boolean
  readonly authenticated: boolean
  readonly user: UserInfo
  readonly raw: RawRequest
  readonly cutOff: () => void
}

/**
 * Accounts for bytes produced for clients that have not read them. Beyond the limits production
 * pauses (for that user, or on that connection), and the clients that have read nothing for
 * longest are disconnected. One piece always fits.
 *
 * Bounded by the calls in progress.
 */
export class OutgoingBytes {
  readonly #limits: OutgoingLimits
  /** In order of the time they have waited, longest first. */
  readonly #waiting = new Set<Waiting>()
  readonly #byUser = new Map<string, number>()
  readonly #byConnection = new Map<object, number>()
  /** Calls that wait to produce more. */
  readonly #held = new Map<SendingCall, () => void>()
  #bytes = 0
  #cutOff = 0

  constructor(limits: OutgoingLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The number of calls that were ended to free memory, because their clients did not read. */
  get cutOff(): number {
    return this.#cutOff
  }

  hasCapacity(call: SendingCall): boolean {
    // The usual case: nothing waits.
    if (this.#bytes === 0) return true
    const { bytesMax, perUserMax, perConnectionMax } = this.#limits
    const { user, connection } = holderOf(call)
    return (
      this.#bytes < bytesMax &&
      (this.#byUser.get(user) ?? 0) < perUserMax &&
      (this.#byConnection.get(connection) ?? 0) < perConnectionMax
    )
  }

  /** Calls `go` once there is space again, or the call has ended. */
  onCapacity(call: SendingCall, go: () => void): void {
    this.#held.set(call, go)
  }

  /**
   * Accounts for bytes that wait for the client of a call.
   * @returns a function that the caller calls when the client has read some, or the call has ended
   */
  wait(call: SendingCall, bytes: number, sinceMs: number): () => void {
    const one: Waiting = { call, bytes, sinceMs, ...holderOf(call) }
    this.#waiting.add(one)
    this.#charge(one, bytes)
    return () => {
      if (!this.#waiting.delete(one)) return
      this.#charge(one, -bytes)
      this.#letGo()
    }
  }

  /** Disconnects clients that block others, and resumes calls. To be called periodically. */
  look(nowMs: number): void {
    for (const { call, sinceMs } of [...this.#waiting]) {
      if (nowMs - sinceMs < this.#limits.slowMsMin) break
      if (this.hasCapacity(call)) continue
      this.#cutOff++
      call.cutOff()
    }
    for (const [call, go] of [...this.#held]) {
      if (!call.closed && !this.hasCapacity(call)) continue
      this.#held.delete(call)
      go()
    }
  }

  /** Resumes one call at a time: what it produces may fill the space again. */
  #letGo(): void {
    let looked = 0
    for (const [call, go] of this.#held) {
      if (++looked > HELD_LOOKED_AT_MAX) return
      this.#held.delete(call)
      if (call.closed || this.hasCapacity(call)) {
        go()
        return
      }
      this.#held.set(call, go)
    }
  }

  #charge({ user, connection }: Waiting, bytes: number): void {
    this.#bytes += bytes
    add(this.#byUser, user, bytes)
    add(this.#byConnection, connection, bytes)
  }
}

type Waiting = {
  readonly call: SendingCall
  readonly bytes: number
  readonly sinceMs: number
  readonly user: string
  readonly connection: object
}

function holderOf(call: SendingCall): Pick<Waiting, 'user' | 'connection'> {
  return {
    user: call.authenticated ? call.user.name : '',
    connection: connectionOf(call.raw) ?? call.raw.socket,
  }
}

function add<Name>(sums: Map<Name, number>, name: Name, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes
  if (sum === 0) sums.delete(name)
  else sums.set(name, sum)
}

/** Calls that are examined when space is released; the next `look` resumes the others. */
const HELD_LOOKED_AT_MAX = 16
