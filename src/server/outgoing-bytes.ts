import type { UserInfo } from '../api/metadata/object.ts'
import { connectionOf } from './peer.ts'
import type { RawRequest } from './raw-http.ts'

export type OutgoingLimits = {
  /** Bytes that wait for clients, of all together, of one user, and of one connection. */
  readonly bytesMax: number
  readonly perUserMax: number
  readonly perConnectionMax: number
  /** Whoever takes nothing for so long is cut off where others need the room. */
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
 * What was made for clients and not taken by them. Where there is too much of it, nobody makes more (for that user, or on that
 * connection), and those that have taken nothing for longest are cut off: what waits is theirs. One piece fits always.
 *
 * Bounded by the calls there are.
 */
export class OutgoingBytes {
  readonly #limits: OutgoingLimits
  /** Whoever waits longest comes first. */
  readonly #waiting = new Set<Waiting>()
  readonly #byUser = new Map<string, number>()
  readonly #byConnection = new Map<object, number>()
  /** Calls that would make more. */
  readonly #held = new Map<SendingCall, () => void>()
  #bytes = 0
  #cutOff = 0

  constructor(limits: OutgoingLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** How many calls were, ever. */
  get cutOff(): number {
    return this.#cutOff
  }

  hasRoom(call: SendingCall): boolean {
    // As mostly: nothing waits for anybody.
    if (this.#bytes === 0) return true
    const { bytesMax, perUserMax, perConnectionMax } = this.#limits
    const { user, connection } = holderOf(call)
    return (
      this.#bytes < bytesMax &&
      (this.#byUser.get(user) ?? 0) < perUserMax &&
      (this.#byConnection.get(connection) ?? 0) < perConnectionMax
    )
  }

  /** Has `go` called once there is room again, or the call is over. */
  onRoom(call: SendingCall, go: () => void): void {
    this.#held.set(call, go)
  }

  /** So many bytes wait for the client of a call. @returns to be called when some were taken, or the call is over */
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

  /** Cuts off those that stand in the way of others. To be called every now and then. */
  look(nowMs: number): void {
    for (const { call, sinceMs } of [...this.#waiting]) {
      if (nowMs - sinceMs < this.#limits.slowMsMin) break
      if (this.hasRoom(call)) continue
      this.#cutOff++
      call.cutOff()
    }
    for (const [call, go] of [...this.#held]) {
      if (!call.closed && !this.hasRoom(call)) continue
      this.#held.delete(call)
      go()
    }
  }

  /** One at a time: what it makes next may fill the room again. */
  #letGo(): void {
    let looked = 0
    for (const [call, go] of this.#held) {
      if (++looked > HELD_LOOKED_AT_MAX) return
      this.#held.delete(call)
      if (call.closed || this.hasRoom(call)) {
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

/** The others come with the next look. */
const HELD_LOOKED_AT_MAX = 16
