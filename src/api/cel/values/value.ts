import type { ListIdentity } from '../types.ts'

/**
 * A value of an expression. An int is a bigint, a double is a number. Lists and maps are views: a
 * JSON value is converted when it is read, never copied as a whole.
 */
export type CelValue =
  | boolean
  | bigint
  | number
  | string
  | null
  | Uint8Array
  | CelUint
  | CelDuration
  | CelTimestamp
  | CelList
  | CelMap
  | CelTypeValue
  | CelOptional
  | CelOpaque

/** The error that an evaluation ends with, unless `&&`, `||` or a macro makes it irrelevant. */
export class CelFailure {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export class CelUint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

export class CelDuration {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class CelTimestamp {
  /** Nanoseconds since 1970 UTC. */
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class CelTypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

export class CelOptional {
  static readonly none = new CelOptional(undefined)
  readonly value: CelValue | undefined

  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

export abstract class CelList {
  abstract readonly size: number
  abstract readonly identity: ListIdentity | undefined
  /** @param index from 0 to size - 1 */
  abstract at(index: number): CelValue | CelFailure
}

/** A map, or an object with fields, which are read by their names in expressions. */
export abstract class CelMap {
  abstract readonly size: number
  /** Name of the type of an object; undefined for a map. */
  abstract readonly typeName: string | undefined
  /** @returns undefined if there is no such key */
  abstract get(key: CelValue): CelValue | CelFailure | undefined
  abstract has(key: CelValue): boolean
  /** Returns the value of a JSON member, whatever its name is in expressions. */
  abstract getMember(member: string): CelValue | CelFailure | undefined
  abstract keys(): Iterable<CelValue>
}

/** A value of a library type. */
export abstract class CelOpaque {
  abstract readonly typeName: string
  abstract equals(other: CelOpaque): boolean
}
