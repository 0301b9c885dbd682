import { partsOf } from '../../../src/store/key.ts'
import type { Key } from '../../../src/store/key.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import type { Truth } from '../checkers/truth.ts'
import type { Version } from '../checkers/version.ts'
import { docOf } from '../clients/observed-object.ts'
import { groupOf } from './task.ts'
import type { Kind } from './task.ts'

/** Any JSON object as stored, with unchecked access. */
export type StoredDoc = {
  readonly kind?: string
  /** The type of a Secret or an event. */
  readonly type?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string; readonly name: string }[]
  }
  readonly data?: Readonly<Record<string, string>>
  readonly rules?: readonly unknown[]
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>
    readonly used?: Readonly<Record<string, string>>
    readonly certificate?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly acceptedNames?: Readonly<Record<string, unknown>> & { readonly shortNames?: readonly string[] }
  }
}

export function storedDoc({ bytes }: Pick<Version, 'bytes'>): StoredDoc {
  return docOf(bytes) as unknown as StoredDoc
}

/** The objects of a committed history at its end, read without the code of the server. */
export class StoredObjects {
  readonly #names: Names
  readonly #truth: Pick<Truth, 'keys' | 'at' | 'revision'>

  constructor(names: Names, truth: Pick<Truth, 'keys' | 'at' | 'revision'>) {
    this.#names = names
    this.#truth = truth
  }

  /** Returns the objects of a kind, in all namespaces unless one is given. */
  list(kind: Kind): readonly StoredDoc[] {
    const { plural, namespace } = kind
    const prefix = `${groupOf(this.#names, kind)}/${plural}/${namespace === null ? '' : `${namespace}/`}`
    const found: StoredDoc[] = []
    for (const key of this.#truth.keys) {
      const version = key.startsWith(prefix) ? this.#truth.at(key, this.#truth.revision) : null
      if (version !== null) found.push(storedDoc(version))
    }
    return found
  }

  get(kind: Kind, name: string): StoredDoc | null {
    return this.list(kind).find(({ metadata }) => metadata.name === name) ?? null
  }

  /** Returns the keys of all objects of a namespace. */
  inNamespace(namespace: string): readonly string[] {
    return [...this.#truth.keys].filter(
      (key) =>
        partsOf(key as Key).namespace === namespace && this.#truth.at(key, this.#truth.revision) !== null,
    )
  }
}
