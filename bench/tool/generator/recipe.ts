import type { ReadForm } from './requests.ts'

/** What every client of a load asks again and again. */
export type Recipe =
  | { readonly kind: 'path'; readonly path: string }
  /** Of objects that are there, one after the other: `<prefix><n>`, n below `objects`. */
  | {
      readonly kind: 'get'
      readonly namespace: string
      readonly prefix: string
      readonly objects: number
      readonly form: ReadForm
    }
  /** Names that nobody else makes: `<prefix><client>-<n>`, each client at most `each` of them. */
  | {
      readonly kind: 'create'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
      readonly each: number
    }
  /** Repeated until it is done. Names `<prefix><n>`: client c of all `clients` makes n = c, c + clients and so on, below `objects`. */
  | {
      readonly kind: 'fill'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
      readonly objects: number
      readonly clients: number
    }
  /** Each client its own object, `<prefix><client>`, whatever version it has. */
  | {
      readonly kind: 'update'
      readonly namespace: string
      readonly prefix: string
      readonly payloadBytes: number
    }
  /** One operation is a whole list, with all its pages. */
  | {
      readonly kind: 'list'
      readonly namespace: string
      readonly page: number | null
      readonly form: ReadForm
    }
