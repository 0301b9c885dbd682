import type { ReadForm } from './requests.ts'

/** The repeated operation of the clients of a load. */
export type Recipe =
  | { readonly kind: 'path'; readonly path: string }
  /** Existing objects in turn, at most 64 per client: `<prefix><n>`, n below `objects`. */
  | {
      readonly kind: 'get'
      readonly namespace: string
      readonly prefix: string
      readonly objects: number
      readonly form: ReadForm
    }
  /** Unique names: `<prefix><client>-<n>`, at most `each` per client. */
  | {
      readonly kind: 'create'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
      readonly each: number
    }
  /**
   * Each object once, with retries. Names are `<prefix><n>`; client c of `clients` creates n = c, c
   * + clients and so on, below `objects`.
   */
  | {
      readonly kind: 'fill'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
      readonly objects: number
      readonly clients: number
    }
  /**
   * Each client changes its own object, `<prefix><client>`, without a precondition: replaces it,
   * sends a merge patch of one member, or applies all of it with `force`.
   */
  | {
      readonly kind: 'update' | 'patch' | 'apply'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
    }
  /** One operation is a whole list with all its pages. */
  | {
      readonly kind: 'list'
      readonly namespace: string
      readonly page: number | null
      readonly form: ReadForm
    }
